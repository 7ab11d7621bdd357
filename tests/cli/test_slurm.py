# SPDX-License-Identifier: Apache-2.0
"""What doctor recommends for Slurm, tried under a Slurm of our own: one node, daemons in a folder."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time

import pytest

from command import HALOCLINE, run, skip, thorough

NO_GPU = {"CUDA_ON_CPU_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "", "HALOCLINE_ASSUME_GPU": "0"}

CONFIGURATION = """
ClusterName=halocline
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
MpiDefault=none
ReturnToService=2
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cores} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Slurm:
    def __init__(self, folder):
        self.folder, self.daemons = folder, []
        self.env = {**NO_GPU, "SLURM_CONF": str(folder / "slurm.conf"),
                    "PATH": f"{os.path.dirname(HALOCLINE)}:{os.environ['PATH']}"}

    def start(self, *words):
        with open(self.folder / f"{os.path.basename(words[0])}.out", "w") as out:
            self.daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out,
                                                 stderr=subprocess.STDOUT,
                                                 env={**os.environ, **self.env}))

    def ask(self, *words):
        return subprocess.run(words, env={**os.environ, **self.env}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=200)

    def wait_until(self, words, what, seconds=30):
        end = time.monotonic() + seconds
        while what not in (said := self.ask(*words)).stdout:
            if time.monotonic() > end:
                logs = "".join(f"{log.name}: {log.read_text()[-1500:]}\n"
                               for log in self.folder.glob("*.log"))
                pytest.fail(f"{words} never said {what!r}: {said}\n{logs}")
            time.sleep(0.1)

    def submit(self, script):
        submitted = self.ask("sbatch", "--parsable", "--output", script.parent / "out", script)
        assert submitted.returncode == 0, submitted
        return submitted.stdout.strip()

    def wait_for_end(self, job, folder, seconds=90):
        """Waits until a job has completed, which sbatch --wait would ask for every 10 s only."""
        end = time.monotonic() + seconds
        ended = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")
        while time.monotonic() < end:
            said = self.ask("scontrol", "show", "job", "--oneliner", job).stdout
            if any(f"JobState={state} " in said for state in ended):
                break
            time.sleep(0.1)
        assert "JobState=COMPLETED " in said, (said, (folder / "out").read_text())
        return said

    def run_batch(self, script):
        self.wait_for_end(self.submit(script), script.parent)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    found = {name: shutil.which(name, path=path)
             for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo")}
    for name, there in found.items():
        if there is None:
            skip(f"there is no {name} (scripts/setup)", needs="slurm")
    if os.geteuid() != 0:
        skip("only root may start Slurm's daemons", needs="slurm")
    folder = tmp_path_factory.mktemp("slurm")
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(os.urandom(1024))
    (folder / "munge.key").chmod(0o400)
    ports = free_ports(2)
    (folder / "slurm.conf").write_text(CONFIGURATION.format(
        host=socket.gethostname(), folder=folder, controller_port=ports[0], node_port=ports[1],
        cores=len(os.sched_getaffinity(0))))
    slurm = Slurm(folder)
    try:
        # Its folder is below one of ours: munged would rather have it elsewhere.
        slurm.start(found["munged"], "--foreground", "--force", "--key-file", folder / "munge.key",
                    "--socket", folder / "munge.socket", "--pid-file", folder / "munge.pid",
                    "--log-file", folder / "munge.log", "--seed-file", folder / "munge.seed")
        slurm.wait_until(["ls", folder], "munge.socket")
        slurm.start(found["slurmctld"], "-D")
        slurm.start(found["slurmd"], "-D", "-N", "n1")
        slurm.wait_until(["sinfo", "-h", "-o", "%T"], "idle")
        yield slurm
    finally:
        slurm.stop()


@pytest.fixture(scope="module")
def recommended(slurm):
    end = run("doctor", "--batch", "slurm", "--json", "-", env=slurm.env, timeout=120)
    return json.loads(end.out)


def write_job(folder, script, words):
    """The recommended script with a solve of its own, that tells how it went."""
    assert script.count("laplace --cells 8192x8192") == 1 and script.count('"${run[@]}"') == 1
    script = script.replace("laplace --cells 8192x8192", words)
    script = script.replace('"${run[@]}"', '"${run[@]}" --json report.json')
    (folder / "job.sh").write_text(script.replace("#!/bin/bash\n", f"#!/bin/bash\n#SBATCH --chdir={folder}\n"))
    return folder / "job.sh"


def test_the_batch_script(slurm, recommended, tmp_path):
    slurm.run_batch(write_job(tmp_path, recommended["batch"], "laplace --cells 64x64 --sweeps 4"))
    assert json.loads((tmp_path / "report.json").read_text())["ranks"] == recommended["facts"]["usable_cores"]


def same_end_as_whole(folder, words, sweeps):
    """What a job in pieces has in the end, beside one run that nothing stops."""
    report = json.loads((folder / "report.json").read_text())
    whole = json.loads(run("solve", *words.split(), "--json", "-", timeout=300).out)
    assert report["sweeps"] == whole["sweeps"] == sweeps
    assert report["fields"] == whole["fields"] and report["norm_history"] == whole["norm_history"]
    return report


@thorough
def test_a_job_that_is_told_to_end_goes_on(slurm, recommended, tmp_path):
    sweeps = 60000
    words = f"laplace --cells 256x256 --tolerance 0 --norm-every 100 --sweeps {sweeps}"
    job = slurm.submit(write_job(tmp_path, recommended["batch"], words))
    slurm.wait_until(["ls", tmp_path], "checkpoints")
    assert slurm.ask("scancel", "--signal=TERM", job).returncode == 0
    assert "Restarts=1 " in slurm.wait_for_end(job, tmp_path)
    report = same_end_as_whole(tmp_path, words, sweeps)
    assert 0 < report["restart"]["sweeps"] < sweeps


@thorough
def test_a_job_cut_by_its_time_goes_on(slurm, recommended, tmp_path):
    """Slurm may send a signal a minute early, so that the first of two minutes is too late for none."""
    # Minutes for the reference backend, seconds for the others, which compute the same bits.
    sweeps = 150000
    words = f"laplace --cells 256x256 --tolerance 0 --norm-every 1000 --sweeps {sweeps}"
    script = recommended["batch"]
    assert "--time=00:30:00" in script and "--signal=TERM@120" in script
    script = script.replace("--time=00:30:00", "--time=00:02:00").replace("TERM@120", "TERM@30")
    job = slurm.submit(write_job(tmp_path, script, words + " --backend reference"))
    assert "Restarts=0 " not in slurm.wait_for_end(job, tmp_path, seconds=600)
    same_end_as_whole(tmp_path, words, sweeps)


def doctor_in_a_job(slurm, folder, words):
    """Runs doctor in the batch step of a job, as a user would; its own steps share the cores."""
    script, report = folder / "job.sh", folder / "doctor.json"
    script.write_text(f"""#!/bin/bash
#SBATCH --nodes=1 --ntasks=2 --overcommit
halocline doctor --launcher "{words}" --json {report}
(($? <= 1))
""")
    slurm.run_batch(script)
    return json.loads(report.read_text())


@thorough
def test_doctor_in_an_allocation(slurm, tmp_path, mpi):
    pmi = "pmix" if "Open MPI" in mpi else "pmi2"
    diagnosis = doctor_in_a_job(slurm, tmp_path, f"srun --overlap --overcommit --mpi={pmi} -n {{ranks}}")
    assert diagnosis["facts"]["allocation"]["manager"] == "Slurm"
    assert diagnosis["facts"]["launcher"].endswith("/srun")
    works = {path["path"]: path["outcome"] for path in diagnosis["paths"]}
    assert set(works.values()) == {"works"}, diagnosis["findings"]
    assert {"MPI_Send", "MPI_Isend", "mpi", "shared"} <= set(works)
    # What it recommends is for a job of its own.
    line = diagnosis["launch"].replace("halocline solve laplace --cells 8192x8192",
                                       f"{HALOCLINE} solve laplace --cells 64x64 --sweeps 4")
    assert "srun --overlap --overcommit" in line and f"--mpi={pmi}" in line, "the user's own options"
    done = slurm.ask(*line.split())
    assert done.returncode == 0, (line, done)


@thorough
def test_an_srun_that_is_not_told_how(slurm, tmp_path):
    diagnosis = doctor_in_a_job(slurm, tmp_path, "srun --overlap --overcommit -n {ranks}")
    broken = [finding for finding in diagnosis["findings"] if finding["severity"] == "broken"]
    assert len(broken) == 1 and "--mpi=pmix for Open MPI, --mpi=pmi2" in broken[0]["do"], broken
