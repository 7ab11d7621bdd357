# SPDX-License-Identifier: Apache-2.0
"""What works here, how fast, and what to change; also in environments that are broken on purpose."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time
from typing import NamedTuple

import pytest

from command import (FINALIZE_HANGS, HALOCLINE, MPI_SEND, build_library, put_script, run,
                     skip, started, thorough, wait_for)
from schema import check_doctor

NO_GPU = {"CUDA_ON_CPU_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "", "HALOCLINE_ASSUME_GPU": "0"}

# Of MPI itself, as ordinary programs send.
WAYS = ("MPI_Send", "MPI_Isend", "MPI_Send_init", "MPI_Sendrecv")


def doctor(*words, env=None, program=(HALOCLINE,), **options):
    """Runs doctor without GPUs, unless `env` says otherwise; returns its report."""
    end = run("doctor", *words, "--json", "-", env={**NO_GPU, **(env or {})}, program=program,
              **options)
    assert end.out.startswith("{"), end
    report = json.loads(end.out)
    check_doctor(report, end.code)
    assert (report["batch"] is None) == ("--batch" not in words)
    assert (report["changes"] is None) == ("--compare" not in words)
    return report


def found(report, words, severity):
    """The one finding with these words in it."""
    findings = [finding for finding in report["findings"] if words in finding["what"]]
    assert len(findings) == 1, (words, report["findings"])
    assert findings[0]["severity"] == severity, findings
    return findings[0]


def path(report, transport, memory="host", of="paths"):
    return next(path for path in report[of]
                if (path["path"], path["memory"], path["with"]) == (transport, memory, ""))


def collective(report, name, memory="device"):
    return path(report, name, memory, of="collectives")


class Plain(NamedTuple):
    """A run that is told nothing but where to put what it finds, once for all who only read that."""
    report: dict
    text: str
    folder: pathlib.Path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    end = run("doctor", "--verbose", "--json", "report.json", "--save", "good.json", "--batch", "slurm",
              env=NO_GPU, cwd=folder)
    assert end.err == "", end
    report = json.loads((folder / "report.json").read_text())
    check_doctor(report, end.code)
    return Plain(report, end.out, folder)


def test_smoke_a_machine_that_works(plain):
    report = plain.report
    assert not [finding for finding in report["findings"] if finding["severity"] == "broken"]
    for transport in (*WAYS, "mpi", "shared"):
        assert path(report, transport)["outcome"] == "works"
    for name in ("MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"):
        assert collective(report, name, "host")["outcome"] == "works"
    sizes = [size for size, us in path(report, "shared")["us"]]
    assert sizes == [8, 4096, 65536, 1 << 20, 16 << 20]
    assert report["taken"]["host"] in ("mpi", "shared")
    assert re.match(r"(mpirun|mpiexec)\S* -n \d+ ", report["launch"])
    assert re.match(r"kill -USR1 PID \(the process id of (mpirun|mpiexec)", report["stop"])
    assert report["changes"] is None


def test_text(plain):
    assert re.search(r"path +memory +pair +8 B \S+ +64 KiB +1 MiB +16 MiB\n", plain.text)
    assert re.search(r"^    shared +host +same-node .* works$", plain.text, re.MULTILINE)
    assert "\n  a run uses  " in plain.text and "\n  start with  " in plain.text
    assert re.search(r"^    ranks' cores  ", plain.text, re.MULTILINE)
    assert re.search(r"^  ranks ran on  cores \d", plain.text, re.MULTILINE)
    if {finding["severity"] for finding in plain.report["findings"]} <= {"note"}:
        assert "\n  all paths work\n" in plain.text


@pytest.fixture(scope="module")
def compared(plain):
    """What has changed since that run, with a setting more, and as if all had been well and faster then."""
    before = json.loads((plain.folder / "good.json").read_text())
    assert before == plain.report
    before["findings"] = []
    mpi = path(before, "mpi")
    mpi["us"] = [[size, us / 100] for size, us in mpi["us"]]
    (plain.folder / "before.json").write_text(json.dumps(before))
    return doctor("--compare", "before.json", "--batch", "pbs", env={"UCX_LOG_LEVEL": "warn"}, cwd=plain.folder)


def test_compares_settings(compared):
    assert {"what": "settings.UCX_LOG_LEVEL", "before": "nothing", "now": "warn"} in compared["changes"]
    assert not [change for change in compared["changes"] if change["what"].startswith("mpi")]


def test_compares_times(compared):
    """What has become much slower is a finding."""
    finding = found(compared, "path mpi:host", "slow")
    assert "before.json" in finding["seen"] and "times as slow" in finding["what"]


def test_batch_scripts(plain, compared):
    for report, mark in ((plain.report, "#SBATCH --ntasks-per-node="), (compared, "#PBS -l select=1:ncpus=")):
        script = report["batch"]
        assert script.startswith("#!/bin/bash\n") and mark in script
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_batch_script_goes_on(plain, tmp_path):
    """Told to stop, its job asks Slurm for another turn, in which it has what is left of the run."""
    for name, text in (("srun", 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"'),
                       ("scontrol", f'echo "$@" >>"{tmp_path}/asked"')):
        put_script(tmp_path / name, f"{text}\n")
    env = {"PATH": f"{tmp_path}:{os.path.dirname(HALOCLINE)}:{os.environ['PATH']}", "SLURM_CPUS_PER_TASK": "1",
           "SLURM_JOB_ID": "17"}
    script = plain.report["batch"].replace('"${run[@]}"', '"${run[@]}" --json report.json')
    problem = "laplace --cells 8192x8192"
    assert script.count(problem) == script.count("--json report.json") == script.count("--restart checkpoints") == 1

    def turn(before, now):
        (tmp_path / "job.sh").write_text(script.replace(before, now))
        return started("job.sh", program=["bash"], env=env, cwd=tmp_path)

    def report():
        return json.loads((tmp_path / "report.json").read_text())

    with turn(problem, "laplace --cells 64x64 --norm none --sweeps 1000000000") as job:
        wait_for((tmp_path / "checkpoints").exists)
        while job.child.poll() is None:  # a run forgets what was there as it began
            (tmp_path / "checkpoints/stop").touch()
            time.sleep(0.1)
        assert job.finish().code == 0
    assert (tmp_path / "asked").read_text() == "requeue 17\n"
    sweeps = report()["sweeps"]
    with turn("--restart checkpoints", f"--restart checkpoints --sweeps {sweeps + 9}") as job:
        assert job.finish().code == 0
    assert (report()["restart"]["sweeps"], report()["sweeps"]) == (sweeps, sweeps + 9)
    assert (tmp_path / "asked").read_text() == "requeue 17\n"


@pytest.mark.parametrize("words, why", [
    ("--ranks 1", "use 2 or more"), ("--batch lsf", "neither slurm nor pbs"),
    ("--time-limit 0", "cannot be limited"), ("--compare no-such-file", "no-such-file"),
    ("--json /no-such-folder/x", "/no-such-folder/x"), ("extra", "extra")])
def test_usage(words, why):
    end = run("doctor", *words.split())
    assert end.code == 2 and why in end.err and end.out == "", end


@pytest.mark.parametrize("text", ["{}", "Once upon a time", "[" * 10000], ids=["object", "prose", "nested"])
def test_compares_with_reports_only(text, tmp_path):
    (tmp_path / "thesis").write_text(text)
    end = run("doctor", "--compare", "thesis", cwd=tmp_path)
    assert end.code == 2 and "is not a doctor report" in end.err and "--save" in end.err


def test_is_no_rank(mpirun):
    end = run("doctor", **mpirun(ranks=2))
    assert end.code == 2 and end.err.count("doctor starts ranks by itself") == 1


# Environments that are broken on purpose


def test_smoke_the_launcher_of_another_mpi(mpi):
    is_open_mpi = "Open MPI" in mpi
    other = shutil.which("mpiexec.mpich" if is_open_mpi else "mpirun.openmpi")
    if other is None:
        skip("only one MPI is installed", needs="two-mpis")
    report = doctor("--launcher", f"{other} {'' if is_open_mpi else '--oversubscribe'} -n {{ranks}}",
                    env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    finding = found(report, "launcher of another MPI", "broken")
    assert "belongs to " + ("MPICH" if is_open_mpi else "Open MPI") in finding["seen"]
    assert "each of 2 ranks ran alone (size 1)" in finding["seen"]
    assert "doctor used it for the remaining tests" in finding["do"]
    assert path(report, "mpi")["outcome"] == "works"


@pytest.mark.parametrize("launcher, told_by", [
    ("true", "variable"), pytest.param("true", "option", marks=thorough),
    pytest.param("echo", "variable", marks=thorough)])
def test_a_launcher_that_starts_nothing(launcher, told_by):
    """It ends with 0, and is not silently replaced; what is used in its place starts three ranks on one core."""
    taskset = shutil.which("taskset") or skip("there is no taskset", needs="taskset")
    words = ["--launcher", f"{launcher} -n {{ranks}}"] if told_by == "option" else []
    env = {"HALOCLINE_LAUNCHER": launcher} if told_by == "variable" else {}
    report = doctor("--ranks", "3", *words, env=env, program=(taskset, "-c", "0", HALOCLINE))
    assert report["ranks"] == 3 and len(report["facts"]["cores_of_ranks"]) == 3
    finding = found(report, "3 ranks do not start", "broken")
    assert f"/{launcher}: " in finding["seen"] and "exit code 0" in finding["seen"]
    assert "bench p2p" in finding["do"] and "doctor used " in finding["do"]
    assert path(report, "mpi")["outcome"] == path(report, "shared")["outcome"] == "works"
    finding = found(report, "3 ranks share core 0: they take turns", "slow")
    assert "only on core 0" in finding["seen"]
    if report["facts"]["online_threads"] > 1:
        assert "taskset" in finding["do"]


@thorough
def test_a_time_limit_that_is_too_short():
    """A sound machine is not called broken."""
    report = doctor("--time-limit", "1")
    assert not [finding for finding in report["findings"] if finding["severity"] == "broken"]
    for finding in report["findings"]:
        if finding["severity"] == "untested":
            assert "--time-limit" in finding["do"]


def test_a_time_limit_in_which_nothing_can_start(tmp_path):
    # Of no MPI, as it says.
    script = put_script(tmp_path / "slow-launcher", "[ \"$1\" = --version ] || sleep 100\n")
    report = doctor("--launcher", str(script), "--time-limit", "1")
    finding = found(report, "the time limit was too short", "untested")
    assert "1 s" in finding["seen"] and report["paths"] == []


def test_settings_that_keep_ranks_from_starting_or_from_shared_memory(mpi):
    """Of several settings only the one that ranks do not start with is left out."""
    is_open_mpi = "Open MPI" in mpi
    name, value = ("OMPI_MCA_pml", "nonesuch") if is_open_mpi else ("UCX_TLS", "nonesuch")
    detour, way = ("OMPI_MCA_btl", "self,tcp") if is_open_mpi else ("MPIR_CVAR_NOLOCAL", "1")
    report = doctor(env={name: value, detour: way, "UCX_LOG_LEVEL": "error"})
    if is_open_mpi or report["facts"]["mpi_settings"].get("device") == "ch4:ucx":
        finding = found(report, f"do not start with {name}={value}", "broken")
        assert f"unset {name}" in finding["do"] and "UCX_LOG_LEVEL" not in finding["do"]
    if not is_open_mpi and dict(path(report, "mpi")["us"])[8] < 3:
        return  # UCX took shared memory by itself, and doctor calls nothing slow that is not
    finding = found(report, "does not use shared memory", "slow")
    assert f"{detour} is '{way}'" in finding["seen"] and "8 bytes" in finding["seen"]
    assert f"unset {detour}" in finding["do"]
    assert path(report, "mpi")["outcome"] == "works"


# What an MPI in front of the real one asks: whether memory is that of an emulated GPU, and whether
# this process is one that does so.
ASKS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int file_has(const char *file, const char *word) {
  char content[4096] = "";
  FILE *open_file = fopen(file, "r");
  size_t length = fread(content, 1, sizeof content - 1, open_file);
  fclose(open_file);
  for (size_t i = 0; i < length; ++i) if (!content[i]) content[i] = ' ';
  return strstr(content, word) != NULL;
}
static int this_is(const char *word) { return file_has("/proc/self/cmdline", word); }
static int lies_in(const void *memory, const char *file) {
  FILE *maps = fopen("/proc/self/maps", "r");
  char line[512];
  int found = 0;
  while (fgets(line, sizeof line, maps)) {
    unsigned long begin, end, at = (unsigned long)memory;
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && begin <= at && at < end)
      found = strstr(line, file) != NULL;
  }
  fclose(maps);
  return found;
}
"""

# Each fault in a call of its own.
FAULTS = ASKS + MPI_SEND + """ { return raise(SIGSEGV); }
static void *with_a_wrong_bit(const void *from, int count) {
  char *copy = malloc(count);
  memcpy(copy, from, count);
  copy[100] ^= 1;
  return copy;
}
int PMPI_Isend(const void *, int, long, int, int, long, void *);
int MPI_Isend(const void *from, int count, long type, int to, int tag, long comm, void *request) {
  if (count > 1 << 20) from = with_a_wrong_bit(from, count);
  return PMPI_Isend(from, count, type, to, tag, comm, request);
}
int PMPI_Sendrecv(const void *, int, long, int, int, void *, int, long, int, int, long, void *);
int MPI_Sendrecv(const void *out, int sent, long type, int to, int tag, void *in, int due, long its_type, int from,
                 int its_tag, long comm, void *status) {
  if (sent == 65536) out = with_a_wrong_bit(out, sent);
  return PMPI_Sendrecv(out, sent, type, to, tag, in, due, its_type, from, its_tag, comm, status);
}
int PMPI_Allreduce(const void *, void *, int, long, long, long);
int MPI_Allreduce(const void *in, void *out, int count, long type, long op, long comm) {
  const int code = PMPI_Allreduce(in, out, count, type, op, comm);
  const int in_place = (unsigned long)in + 1 <= 2;  /* 1 or -1 */
  if (!in_place) *(double *)out += 1;
  return code;
}
int MPI_Win_allocate_shared(long bytes, int unit, long info, long comm, void *base, void *window) { return 16; }
int PMPI_Iallgather(const void *, int, long, void *, int, long, long, void *);
int MPI_Iallgather(const void *in, int n, long type, void *out, int m, long their, long comm, void *r) {
  if (this_is("--facts")) raise(SIGSEGV);
  return PMPI_Iallgather(in, n, type, out, m, their, comm, r);
}"""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """The report about an MPI with several faults."""
    library = tmp_path_factory.mktemp("faulty") / "shim.so"
    build_library(library, FAULTS)
    return doctor(env={"LD_PRELOAD": str(library)})


def test_smoke_an_mpi_that_crashes(faulty):
    finding = found(faulty, "MPI_Send between two ranks does not work", "broken")
    assert "ended by signal 11" in finding["seen"] and "while sending 8 bytes" in finding["seen"]
    assert "shim.so" in finding["do"]
    assert path(faulty, "MPI_Send")["outcome"] == "failed"
    for transport in ("MPI_Send_init", "mpi"):
        assert path(faulty, transport)["outcome"] == "works", "the rest is tried all the same"


def test_an_mpi_that_corrupts_bytes(faulty):
    """In messages of one size, and in large ones that are sent at once."""
    finding = found(faulty, "deliver wrong bytes", "broken")
    assert "MPI_Isend between two ranks and MPI_Sendrecv between two ranks" in finding["what"]
    assert "shim.so" in finding["do"]
    for way, bytes in (("MPI_Isend", 4194304), ("MPI_Sendrecv", 65536)):
        result = path(faulty, way)
        assert result["outcome"] == "wrong"
        assert re.match(f"byte 100 of {bytes} from rank . to rank . did not arrive as sent", result["how"])


def test_an_mpi_that_adds_wrongly(faulty):
    finding = found(faulty, "wrong values from MPI_Allreduce on host memory", "broken")
    assert "of 8 that rank" in finding["seen"]
    assert collective(faulty, "MPI_Allreduce", "host")["outcome"] == "wrong"
    assert collective(faulty, "MPI_Bcast", "host")["outcome"] == "works"


def test_an_mpi_that_crashes_while_facts_are_gathered(faulty):
    """It is named as what it is, and paths are tried all the same."""
    finding = found(faulty, "ranks end early, while gathering facts", "broken")
    assert "GPU" not in finding["what"] and "signal 11" in finding["seen"]


def test_an_mpi_without_shared_windows(faulty):
    finding = found(faulty, "cannot use transport shared", "slow")
    assert "MPI_Win_allocate_shared" in finding["seen"] and "shim.so" in finding["do"]
    assert path(faulty, "shared")["outcome"] == "unavailable"


def test_smoke_an_mpi_that_hangs(preload):
    """In a message and at its end: each is named, and neither keeps doctor from trying the rest."""
    waited = "has not returned for 6 s"
    report = doctor("--time-limit", "12",
                    env=preload(f"{FINALIZE_HANGS}\n{MPI_SEND} {{ for (;;) pause(); }}"))
    finding = found(report, "MPI_Send between two ranks does not work", "broken")
    assert re.search(f"MPI_(Send|Recv) {waited}", finding["seen"])
    finding = found(report, "not MPI_Finalize", "broken")
    assert "2 jobs that had finished" in finding["seen"]
    assert re.search(rf"rank \d: MPI_Finalize {waited}", finding["seen"])
    assert report["mpi"] in finding["seen"] and "shim.so" in finding["do"]
    assert path(report, "mpi")["outcome"] == path(report, "shared")["outcome"] == "works"
    assert len([finding for finding in report["findings"] if finding["severity"] == "broken"]) == 2


@thorough
def test_an_mpi_that_dies_at_its_end(preload):
    report = doctor(env=preload("#include <signal.h>\nint MPI_Finalize(void) { return raise(SIGKILL); }"))
    finding = found(report, "not MPI_Finalize", "broken")
    assert "signal 9" in finding["seen"]
    assert path(report, "mpi")["outcome"] == "works"


def unshare(*words):
    """A command in namespaces of its own, which only root may make, and not everywhere."""
    program = shutil.which("unshare") or skip("there is no unshare", needs="unshare")
    if subprocess.run([program, *words, "true"], capture_output=True).returncode != 0:
        skip(f"unshare {' '.join(words)} is not allowed here", needs="unshare")
    return program


def test_the_shared_memory_that_docker_gives():
    """64 MB: enough for MPI, not for the largest messages of transport shared."""
    program = unshare("-m")
    report = doctor(program=(program, "-m", "sh", "-c",
                             'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "sh",
                             HALOCLINE), timeout=240)
    finding, = [finding for finding in report["findings"] if "transport shared" in finding["what"]]
    assert finding["severity"] in ("broken", "slow")
    assert "/dev/shm has a size of 64 MiB" in finding["seen"] and "need up to" in finding["seen"]
    assert "--shm-size" in finding["do"] and "--ipc=host" in finding["do"]
    assert "reinstall" not in finding["do"]
    assert path(report, "mpi")["outcome"] == "works"


def facts_said(**env):
    """What a rank of a probe job says of itself and of what it finds: {kind: [facts, ...]}."""
    said = {}
    for line in run("examine-paths", "--facts", env={**NO_GPU, **env}).out.splitlines():
        for kind, facts in json.loads(line.partition(": ")[2]).items():
            said.setdefault(kind, []).append(facts)
    return said


def test_ranks_say_in_which_namespaces_they_are():
    rank, = facts_said()["rank"]
    assert (rank["ipc"], rank["processes"]) == (os.readlink("/proc/self/ns/ipc"), os.readlink("/proc/self/ns/pid"))


@thorough
def test_ipc_namespaces_of_their_own(mpirun):
    program = unshare("--ipc")
    options = mpirun(ranks=2)
    launcher = " ".join(options["program"][:-2]) + " {ranks} " + program + " --ipc"
    report = doctor("--launcher", launcher, env=options["env"])
    finding = found(report, "IPC namespaces", "note")
    assert finding["seen"].count("ipc:[") == 2 and "--ipc=host" in finding["do"]


# Libraries


def found_library(report, name):
    library, = [words for words in report["facts"]["found_libraries"]
                if re.match(rf"{name}( [\d.]+)?( with(out)? its CUDA part)?: ", words)]
    return library


def version_row(name, env):
    """What --version --verbose tells of a library: what doctor does, in a moment."""
    text = run("--version", "--verbose", env={**NO_GPU, **env}).out
    return re.search(rf"^  {name} +(.*)", text, re.MULTILINE)[1]


NCCL_SOURCE = "int ncclGetVersion(int *version) {{ *version = {}; return 0; }}"
# Those of the machine would be found, too.
NO_LIBRARIES = {"HALOCLINE_NCCL": "", "HALOCLINE_NVSHMEM": "", "HALOCLINE_NVRTC": "", "HALOCLINE_HDF5": ""}


NVRTC_SOURCE = "int nvrtcVersion(int *a, int *b) {{ *a = {}; *b = {}; return 0; }}"


class Libraries(NamedTuple):
    """Several, some of them by two ways or of no use, and the report of a run that finds them."""
    folder: pathlib.Path
    env: dict
    report: dict


@pytest.fixture(scope="module")
def libraries(tmp_path_factory, gpu):
    folder = tmp_path_factory.mktemp("libraries")
    build_library(folder / "nccl.so", NCCL_SOURCE.format(23007))
    build_library(folder / "loader/libnccl.so.2", NCCL_SOURCE.format(22703))
    build_library(folder / "loader/libnccl-net-mine.so", "int none_of_its_functions;")
    build_library(folder / "lib/python3.12/site-packages/nvidia/nvshmem/lib/libnvshmem_host.so.3",
                  "void nvshmemx_vendor_get_version_info(int *a, int *b, int *c) { *a = 3; *b = 4; *c = 5; }")
    build_library(folder / "hdf5.so", "int H5get_libversion(unsigned *a, unsigned *b, unsigned *c) "
                                      "{ *a = 1; *b = 14; *c = 3; return 0; }")
    build_library(folder / "nvrtc.so", NVRTC_SOURCE.format(11, 8))
    build_library(folder / "mpix.so", "int MPIX_Stream_create; int MPIX_Send_enqueue;")
    env = {"VIRTUAL_ENV": str(folder), "HALOCLINE_NCCL": str(folder / "nccl.so"), "NCCL_NET_PLUGIN": "mine",
           "LD_LIBRARY_PATH": str(folder / "loader"), "HALOCLINE_NVSHMEM": "",
           "HALOCLINE_HDF5": str(folder / "hdf5.so"), "HALOCLINE_NVRTC": str(folder / "nvrtc.so"),
           "LD_PRELOAD": str(folder / "mpix.so")}
    absent = {} if gpu else {"HALOCLINE_ASSUME_GPU": "1", "CUDA_VISIBLE_DEVICES": "0"}
    # With MPICH each rank is a node of its own then.
    return Libraries(folder, env, doctor(env={**env, **absent, "MPIR_CVAR_NOLOCAL": "1"}))


def test_libraries_of_python_packages(libraries, tmp_path):
    packages = tmp_path / "lib/python3.12/site-packages/nvidia"
    nccl, nvshmem = packages / "nccl/lib/libnccl.so.2", packages / "nvshmem/lib/libnvshmem_host.so.3"
    build_library(nccl, NCCL_SOURCE.format(22809))
    env = {"VIRTUAL_ENV": str(tmp_path), **NO_LIBRARIES}
    lacking = re.findall(r"\bnccl[A-Z]\w+", version_row("NCCL", env).partition(" lacks ")[2])
    assert "ncclSend" in lacking
    build_library(nccl, NCCL_SOURCE.format(22809) + "".join(f" int {name}(void) {{ return 1; }}" for name in lacking))
    assert version_row("NCCL", {**env, "LD_LIBRARY_PATH": str(nccl.parent)}) == \
        f"2.28.9: {nccl}, found by its Python package"
    assert re.match(r"NVSHMEM 3\.4\.5: .*/libnvshmem_host\.so\.3, found by its Python package",
                    found_library(libraries.report, "NVSHMEM"))
    nvshmem.parent.mkdir(parents=True)
    nvshmem.write_text("no library")
    assert re.match(f"{nvshmem}, .*, cannot be loaded: .*(ELF|short)", version_row("NVSHMEM", env))


def test_hdf5_that_lacks_functions(libraries):
    row = version_row("HDF5", libraries.env)
    assert row.startswith("1.14.3: ") and "lacks H5open, " in row, row
    assert ".vtkhdf" in next(finding["what"] for finding in libraries.report["findings"] if "HDF5" in finding["what"])


def test_compiler_of_kernels(libraries, tmp_path):
    """The newest CUDA's first, then an earlier one's; of the toolkit, or as the variable says."""
    toolkit, named = tmp_path / "cuda/lib64", libraries.folder / "nvrtc.so"
    build_library(toolkit / "libnvrtc.so.12", NVRTC_SOURCE.format(12, 8))
    env = {**NO_LIBRARIES, "CUDA_HOME": str(tmp_path / "cuda")}

    def row():
        return version_row("NVRTC", env)

    # Where the machine has one of its own for a newer CUDA, that goes before.
    assert row().startswith(f"12.8: {toolkit}/libnvrtc.so.12, found by the CUDA toolkit") or \
        re.match(r"13\.\d", row())
    build_library(toolkit / "libnvrtc.so.13", NVRTC_SOURCE.format(13, 0))
    assert re.match(r"13\.\d+: ", row())
    env["HALOCLINE_NVRTC"] = str(named)
    assert re.match(rf"11\.8: {named}, found by HALOCLINE_NVRTC, .*is too old: 12\.0 is needed", row())
    assert found_library(libraries.report, "NVRTC").startswith(f"NVRTC 11.8: {named}")


def test_two_versions_of_a_library(libraries):
    """The one that is taken comes first; the plug-in for the network is looked for as NCCL does."""
    report, named, of_loader = libraries.report, libraries.folder / "nccl.so", libraries.folder / "loader"
    assert not [f for f in report["findings"] if "nodes differ" in f["what"]], "one looked, all find"
    files = [file for file in report["facts"]["library_files"] if file["library"] == "NCCL"]
    assert [(file["file"], file["version"], file["found_by"], file["taken"])
            for file in (files[0], files[-1])] == [
        (str(named), "2.30.7", "HALOCLINE_NCCL", True),
        (f"{of_loader}/libnccl.so.2", "2.27.3", "the loader", False)]
    name = "NCCL network plug-in"
    assert found_library(report, name) == f"{name}: {of_loader}/libnccl-net-mine.so"
    assert report["facts"]["settings"]["HALOCLINE_NCCL"] == str(named)
    assert version_row("NCCL", libraries.env).startswith(f"2.30.7: {named}, found by HALOCLINE_NCCL")
    plugin, = [library for library in facts_said(**{**libraries.env, "NCCL_NET_PLUGIN": "yours"})["library"]
               if library["name"] == name]
    assert "NCCL_NET_PLUGIN is 'yours'" in plugin["problem"]


def test_what_an_mpi_has_besides(libraries):
    facts = libraries.report["facts"]
    assert facts["mpi_stream_calls"] is True
    assert isinstance(facts["mpi_partitioned_calls"], bool)


def test_a_gpu_that_is_not_there(libraries, gpu):
    if gpu:
        skip("there is a GPU", needs="no-gpu")
    finding = next(f for f in libraries.report["findings"] if f["what"] in (
        "no usable GPU", "this build does not use GPUs"))
    assert "1 NVIDIA GPU" in finding["seen"]


def test_smoke_parts_for_cuda(mpi, plain):
    """Whose this MPI is, and whether it takes a GPU's memory."""
    report = plain.report
    for name in ("UCX", "libfabric"):
        words = found_library(report, name)
        assert "not found" in words or re.search(r"[\d.]+ with(out)? its CUDA part: /", words)
        if "MPICH" in mpi and report["facts"]["mpi_settings"]["device"] == \
                {"UCX": "ch4:ucx", "libfabric": "ch4:ofi"}[name]:
            assert words.endswith(", loaded by MPI")


# GPUs


def with_gpus(count=2, **more):
    return {"CUDA_ON_CPU_DEVICES": str(count), "HALOCLINE_ASSUME_GPU": str(count),
            "CUDA_VISIBLE_DEVICES": ",".join(map(str, range(count))),
            "CUDA_ON_CPU_ORDER": "eager", **more}


@pytest.mark.parametrize("gpus, pair", [(1, "same-gpu"), (2, "same-node")])
def test_an_mpi_that_is_not_gpu_aware(gpus, pair, emulation):
    report = doctor(env=with_gpus(gpus))
    assert path(report, "gpu_aware", "device")["outcome"] == "failed"
    finding = found(report, "is not GPU-aware", "absent")
    assert "signal 11" in finding["seen"] and "8 bytes" in finding["seen"]
    for transport, memory in (
            ("peer", "device"), ("staged", "device"), ("mpi", "pinned"), ("mpi", "system"),
            ("peer", "pool"), ("peer", "vmm"), ("staged", "pool"), ("staged", "vmm")):
        assert path(report, transport, memory)["outcome"] == "works"
        assert path(report, transport, memory)["pair"] == pair
    assert report["taken"]["device"] == "peer"
    assert f" -n {gpus} " in report["launch"]
    assert len(report["facts"]["gpus"]) == gpus
    assert report["facts"]["peer_access"] == ["1" * gpus] * gpus
    assert not [path for path in report["paths"] if path["path"] == "gpu_aware"
                and path["memory"] in ("pool", "vmm")], "MPI takes none of this GPU's memory"
    assert collective(report, "MPI_Allreduce", "host")["outcome"] == "works"
    for name in ("MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"):
        assert collective(report, name)["outcome"] == "failed"
        assert "was ended by signal" in collective(report, name)["how"]


def test_strict_minds_what_is_not_available(emulation):
    """A GPU-aware MPI is not available; whether something is slow besides depends on the day."""
    for words, code in ((["--strict"], 3), ([], 0)):
        end = run("doctor", *words, "--json", "-", env={**NO_GPU, **with_gpus(1)})
        severities = {finding["severity"] for finding in json.loads(end.out)["findings"]}
        assert "absent" in severities
        assert end.code == (1 if severities & {"broken", "slow"} else code)


def test_an_mpi_that_is_gpu_aware(emulation):
    report = doctor(env=with_gpus(CUDA_ON_CPU_DEVICE_MEMORY="host-readable"))
    for memory in ("device", "managed", "pool", "vmm"):
        aware = path(report, "gpu_aware", memory)
        assert aware["outcome"] == "works" and len(aware["us"]) == 5
    for name in ("MPI_Allreduce", "MPI_Bcast", "MPI_Allgather"):
        assert collective(report, name)["outcome"] == "works"
        assert len(collective(report, name)["us"]) == 5
    assert not [f for f in report["findings"] if f["severity"] in ("broken", "absent")]


GPU_AWARE = {"CUDA_ON_CPU_DEVICE_MEMORY": "host-readable"}


def test_an_mpi_that_takes_a_gpus_memory_in_part(preload, emulation):
    """It crashes in one collective and is wrong in another, and when it sends virtual memory."""
    env = preload(ASKS + """
int PMPI_Allreduce(const void *, void *, int, long, long, long);
int MPI_Allreduce(const void *in, void *out, int count, long type, long op, long comm) {
  if (lies_in(in, "cuda_on_cpu")) raise(SIGSEGV);
  return PMPI_Allreduce(in, out, count, type, op, comm);
}
int PMPI_Bcast(void *, int, long, int, long);
int MPI_Bcast(void *memory, int count, long type, int root, long comm) {
  const int code = PMPI_Bcast(memory, count, type, root, comm);
  if (count == 4096 && lies_in(memory, "cuda_on_cpu")) ((char *)memory)[1000] ^= 4;
  return code;
}
int PMPI_Send_init(const void *, int, long, int, int, long, void *);
int MPI_Send_init(const void *from, int count, long type, int to, int tag, long comm, void *r) {
  if (lies_in(from, "cuda_on_cpu memory")) raise(SIGABRT);
  return PMPI_Send_init(from, count, type, to, tag, comm, r);
}""")
    report = doctor(env=with_gpus(**GPU_AWARE, **env))
    finding = found(report, "accepts GPU memory in messages, but not in MPI_Allreduce", "absent")
    # Hydra does not always tell by which: both ranks may die at once.
    assert "MPI_Allreduce: a rank was ended by signal" in finding["seen"]
    assert "with 8 bytes" in finding["seen"]
    assert "to the host before" in finding["do"]
    assert collective(report, "MPI_Allreduce", "host")["outcome"] == "works"
    finding = found(report, "wrong values from MPI_Bcast on GPU memory", "broken")
    assert "byte 1000 of 4096 that rank 0 received is wrong" in finding["seen"]
    assert collective(report, "MPI_Allgather")["outcome"] == "works", "tried in another job"
    finding = found(report, "memory from cudaMalloc, but not from CUDA's virtual memory", "broken")
    assert "vmm memory: a rank was ended by signal" in finding["seen"]
    for transport, memory in (("gpu_aware", "device"), ("gpu_aware", "pool"), ("staged", "vmm")):
        assert path(report, transport, memory)["outcome"] == "works"


def test_an_mpi_that_says_done_too_early(preload, emulation, tmp_path):
    """Every byte comes, but later than MPI says: what follows in a stream reads old ones."""
    env = preload(ASKS + """
int PMPI_Startall(int, void *), PMPI_Testall(int, void *, int *, void *);
int PMPI_Waitall(int, void *, void *);
static void *begun;
int MPI_Testall(int count, void *requests, int *done, void *states) {
  if (requests != begun) return PMPI_Testall(count, requests, done, states);
  *done = 1;
  return 0;
}
int MPI_Startall(int count, void *requests) {
  if (!this_is("examine-paths --paths gpu_aware:device")) return PMPI_Startall(count, requests);
  if (begun == requests) PMPI_Waitall(count, requests, (void *)1);
  begun = requests;
  return PMPI_Startall(count, requests);
}""")
    report = doctor("--proofs", "proofs.json", env=with_gpus(**GPU_AWARE, **env), cwd=tmp_path)
    finding = found(report, "as complete before they are", "broken")
    assert "had not arrived when later work in the stream read it" in finding["seen"]
    assert path(report, "gpu_aware", "device")["outcome"] == "out of order"
    assert set(proofs_of("gpu_aware", tmp_path)) == {("same-node", "out of order")}
    assert report["taken"]["device"] == "peer"


@pytest.fixture(scope="module")
def nccl():
    """The library that stands for NCCL where CUDA runs on the CPU; NVSHMEM has one, too."""
    return os.environ.get("HALOCLINE_NCCL") or skip("nothing stands for NCCL", needs="cuda-on-cpu")


def proofs_of(transport, folder):
    proofs = json.loads((folder / "proofs.json").read_text())["proofs"]
    return [(proof["pair"], proof["outcome"]) for proof in proofs
            if (proof["path"], proof["memory"]) == (transport, "device")]


def test_transports_of_libraries_are_tried_and_proved(emulation, nccl, tmp_path):
    report = doctor("--proofs", "proofs.json", env=with_gpus(**GPU_AWARE), cwd=tmp_path)
    for transport in ("nccl", "nvshmem"):
        result = path(report, transport, "device")
        assert result["outcome"] == "works" and len(result["us"]) == 5
        assert proofs_of(transport, tmp_path) == [("same-node", "works")]
    assert report["taken"]["device"] == "peer", "these have to be asked for"
    end = run("solve", "laplace", "--cells", "64x64", "--sweeps", "3", "--ranks", "2",
              "--transport", "nccl", "--proofs", "proofs.json", env=with_gpus(**GPU_AWARE), cwd=tmp_path)
    assert end.code == 0 and "testing in a probe job" not in end.err, end


@pytest.mark.parametrize("fault, why, proofs", [
    ("no-init", "ncclCommInitRank", []), ("lost", "NCCL lost another rank", [("same-node", "failed")]),
    ("hang", "has not returned for", [("same-node", "failed")])])
def test_an_nccl_that_fails(fault, why, proofs, emulation, nccl, tmp_path):
    """The rest is tried all the same; what may be otherwise the next time makes no proof."""
    report = doctor("--proofs", "proofs.json", "--time-limit", "10", cwd=tmp_path,
                    env=with_gpus(NCCL_ON_CPU=fault))
    finding = found(report, "does not work between the GPUs of a node", "broken")
    assert why in finding["seen"] and "NCCL_DEBUG" in finding["do"]
    assert path(report, "nccl", "device")["outcome"] == "failed"
    assert path(report, "peer", "device")["outcome"] == "works"
    assert path(report, "gpu_aware", "managed")["outcome"] == "works", "tried after it"
    assert proofs_of("nccl", tmp_path) == proofs


def test_an_nvshmem_that_does_not_start(emulation, nccl):
    """A fault, unless ranks share a GPU, which it does not bear."""
    report = doctor(env=with_gpus(NVSHMEM_ON_CPU="no-init"))
    finding = found(report, "does not work between the GPUs of a node", "broken")
    assert "NVSHMEM" in finding["what"] and "NVSHMEM_DEBUG" in finding["do"]
    assert "did not start" in finding["seen"]
    assert path(report, "nvshmem", "device")["outcome"] == "failed"
    report = doctor(env=with_gpus(1, NVSHMEM_ON_CPU="no-init"))
    assert path(report, "nvshmem", "device")["outcome"] == "unavailable"
    assert not any("NVSHMEM" in finding["what"] for finding in report["findings"])


def test_an_nccl_that_does_not_serve_here(emulation, nccl):
    """No fault, but said: an old one, one that is no library, and one for ranks on one GPU."""
    for env, why, severities in (
            (with_gpus(NCCL_ON_CPU="old"), "2.12.10 is needed", ["note"]),
            (with_gpus(HALOCLINE_NCCL="/no/such/file"), "cannot be loaded", ["note"]),
            (with_gpus(1, NCCL_MULTI_RANK_GPU_ENABLE="0"), "ranks 0 and 1 share", [])):
        report = doctor(env=env)
        result = path(report, "nccl", "device")
        assert result["outcome"] == "unavailable" and why in result["how"]
        assert [f["severity"] for f in report["findings"] if "NCCL" in f["what"]] == severities


def test_a_false_claim(preload, emulation):
    env = preload("int MPIX_Query_cuda_support(void) { return 1; }")
    report = doctor(env=with_gpus(1, **env))
    finding = found(report, "falsely claims to accept GPU memory", "broken")
    assert "MPIX_Query_cuda_support() returns yes" in finding["seen"]
    assert report["facts"]["claims_gpu"] is True


def test_a_setting_that_cures(preload, emulation, mpi):
    """An MPI that takes a GPU's memory only when it is told to: doctor tells it, and proves it."""
    if "MPICH" not in mpi:
        skip("the setting is MPICH's", needs="mpich")
    env = preload("""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int PMPI_Startall(int, void *);
int MPI_Startall(int count, void *requests) {
  char name[4096] = "";
  FILE *file = fopen("/proc/self/cmdline", "r");
  size_t length = fread(name, 1, sizeof name - 1, file);
  fclose(file);
  for (size_t i = 0; i < length; ++i) if (!name[i]) name[i] = ' ';
  if (strstr(name, "--paths gpu_aware:") && !getenv("MPIR_CVAR_ENABLE_GPU")) raise(SIGSEGV);
  return PMPI_Startall(count, requests);
}""")
    report = doctor(env=with_gpus(CUDA_ON_CPU_DEVICE_MEMORY="host-readable", **env))
    finding = found(report, "accepts GPU memory only with other settings", "slow")
    assert "set MPIR_CVAR_ENABLE_GPU=1: tried here, and every byte arrived" in finding["do"]
    cured = [path for path in report["paths"] + report["collectives"] if path["with"]]
    assert {path["with"] for path in cured} == {"MPIR_CVAR_ENABLE_GPU=1"}
    assert {path["outcome"] for path in cured} == {"works"}
    assert [path["memory"] for path in cured[:3]] == ["device", "pool", "vmm"]
    assert len(cured) == 3 + 3, "collectives on the host need no cure"
    assert "-genv MPIR_CVAR_ENABLE_GPU 1" in report["launch"]
