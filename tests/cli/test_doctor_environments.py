# SPDX-License-Identifier: Apache-2.0
"""Environments that are broken, or odd and sound: doctor names the cause, and what it says to do helps.

A row breaks the environment by a few lines of bash. Then doctor runs there, and after what it says to do a solve
on two ranks. Breaks that need a library of their own are in test_doctor.py.
"""

import json
import os
import shutil
import subprocess
from typing import NamedTuple

import pytest

from command import HALOCLINE, run, skip, thorough
from schema import check_doctor

NO_GPU = {"CUDA_ON_CPU_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "", "HALOCLINE_ASSUME_GPU": "0"}


class Row(NamedTuple):
    name: str
    breaks: str  # in bash, with $T for a folder, $MPIRUN for the right launcher, $OTHER for one of another MPI
    what: str = ""  # words of the finding, or some of several, "a|b"; none: all is well
    do: str = ""  # words of what to do
    apply: str = ""  # in bash; `do` itself without it
    seen: str = ""
    severity: str = "broken"
    mpi: str = "Open MPI"  # or "MPICH", or "" for both
    namespaces: str = ""  # options of unshare
    user: bool = False  # no root
    needs: str = ""  # a program
    seconds: str = ""  # --time-limit of doctor, where ranks hang
    cheap: bool = False  # also in `make test`


ANY_FAILURE = "ranks do not start|ranks end early|not work|could not be tried"

ROWS = [
    # Launchers.
    Row("a launcher that starts nothing is first in PATH",
        'printf "#!/bin/sh\\n" | tee $T/mpirun >$T/mpiexec; chmod +x $T/mpi*; export PATH=$T:$PATH',
        "first, which doctor did not use", "as the launch line does", ":", "does not name its MPI", "note"),
    Row("a launcher that hangs is first in PATH",
        'printf "#!/bin/sh\\n[ \\$1 = --version ] || sleep 300\\n" | tee $T/mpirun >$T/mpiexec; chmod +x $T/mpi*;'
        "export PATH=$T:$PATH",
        "first, which doctor did not use", "as the launch line does", ":", "does not name its MPI", "note"),
    Row("a launcher that starts one rank is first in PATH",
        'printf "#!/bin/sh\\nshift 2; exec \\"\\$@\\"\\n" | tee $T/mpirun >$T/mpiexec; chmod +x $T/mpi*;'
        "export PATH=$T:$PATH",
        "first, which doctor did not use", "as the launch line does", ":", "does not name its MPI", "note"),
    Row("the launcher of another MPI",
        "export HALOCLINE_LAUNCHER=$OTHER OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "launcher of another MPI", "which fits", "export HALOCLINE_LAUNCHER=$MPIRUN", "ran alone", mpi="",
        needs="mpiexec.mpich"),
    Row("a launcher that is absent", "export HALOCLINE_LAUNCHER=/opt/mpi/bin/mpirun",
        "no launcher", "correct HALOCLINE_LAUNCHER, or omit it", "unset HALOCLINE_LAUNCHER", "/opt/mpi/bin/mpirun",
        mpi="", cheap=True),
    Row("a launcher that eats its arguments",
        'printf "#!/bin/sh\\nexec $MPIRUN\\n" >$T/eats; chmod +x $T/eats; export HALOCLINE_LAUNCHER=$T/eats',
        "2 ranks do not start", "unset HALOCLINE_LAUNCHER", seen="/eats: "),
    Row("the number of ranks is given twice", 'export HALOCLINE_LAUNCHER="$MPIRUN -np 2"',
        "cannot start ranks", "correct HALOCLINE_LAUNCHER", 'export HALOCLINE_LAUNCHER="$MPIRUN -np {ranks}"',
        "write -np {ranks}", mpi="", cheap=True),
    Row("a launcher that does not follow the number of ranks",
        'printf "#!/bin/sh\\n[ \\$1 = -n ] && shift 2 && set -- -n 1 \\"\\$@\\"\\n" >$T/one;'
        'printf "exec $MPIRUN \\"\\$@\\"\\n" >>$T/one; chmod +x $T/one;'
        'export HALOCLINE_LAUNCHER="$T/one -n {ranks}"',
        "does not start the 2 ranks", "unset HALOCLINE_LAUNCHER", seen="started 1", mpi=""),
    Row("too few slots", 'export HALOCLINE_LAUNCHER="$MPIRUN --host localhost:1"',
        "2 ranks do not start", "add --oversubscribe",
        'export HALOCLINE_LAUNCHER="$HALOCLINE_LAUNCHER --oversubscribe"', "not enough slots"),
    Row("a launcher that sets a parameter", 'export HALOCLINE_LAUNCHER="$MPIRUN --mca btl self"',
        "2 ranks do not start", "what HALOCLINE_LAUNCHER sets: OMPI_MCA_btl=self",
        "export HALOCLINE_LAUNCHER=$MPIRUN"),
    Row("a hostfile that is missing", 'export HALOCLINE_LAUNCHER="$MPIRUN --hostfile $T/hosts"',
        "2 ranks do not start", "hostfile", 'echo "localhost slots=2" >$T/hosts', "/hosts"),
    Row("an option that the launcher does not know", 'export HALOCLINE_LAUNCHER="$MPIRUN --nonesuch"',
        "2 ranks do not start", "remove that option", "export HALOCLINE_LAUNCHER=$MPIRUN", "--nonesuch"),
    Row("srun without Slurm", "export HALOCLINE_LAUNCHER=srun SLURM_CONF=$T/none",
        "2 ranks do not start", "unset HALOCLINE_LAUNCHER", seen="srun", mpi="", needs="srun"),
    Row("a launcher that passes on libraries of another MPI",
        "echo 'int none;' | cc -shared -fPIC -Wl,-soname,libmpi.so.40 -x c -o $T/libmpi.so.40 -;"
        'export HALOCLINE_LAUNCHER="$MPIRUN -x LD_LIBRARY_PATH=$T"',
        "2 ranks do not start", "what HALOCLINE_LAUNCHER sets: LD_LIBRARY_PATH",
        "export HALOCLINE_LAUNCHER=$MPIRUN", needs="cc"),
    # What PATH lacks.
    Row("no launcher", "for p in bash sh ssh; do ln -s $(command -v $p) $T; done; export PATH=$T",
        "is not in PATH", "first in PATH", ":", "doctor used", "note", ""),
    Row("no ssh", "for p in bash sh mpirun mpiexec orted; do ln -s $(command -v $p) $T; done; export PATH=$T",
        "2 ranks do not start", "OMPI_MCA_plm_rsh_agent=sh", "export OMPI_MCA_plm_rsh_agent=sh", "ssh : rsh",
        cheap=True),
    # Variables.
    Row("btl=self", "export OMPI_MCA_btl=self", "do not start with OMPI_MCA_btl=self", "unset OMPI_MCA_btl"),
    Row("btl=tcp", "export OMPI_MCA_btl=tcp OMPI_MCA_pml=ob1", "do not start with OMPI_MCA_btl=tcp",
        "unset OMPI_MCA_btl"),
    Row("btl=self,tcp", "export OMPI_MCA_btl=self,tcp OMPI_MCA_pml=ob1", "does not use shared memory",
        "unset OMPI_MCA_btl", severity="slow"),
    Row("an interface that is not there", "export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=nonesuch",
        "do not start with OMPI_MCA_btl_tcp_if_include=nonesuch", "unset OMPI_MCA_btl_tcp_if_include"),
    Row("an unknown pml", "export OMPI_MCA_pml=nonesuch", "do not start with OMPI_MCA_pml=nonesuch",
        "unset OMPI_MCA_pml"),
    Row("a pml without a network for it", "export OMPI_MCA_pml=cm", "do not start with OMPI_MCA_pml=cm",
        "unset OMPI_MCA_pml"),
    Row("an unknown way to start daemons", "export OMPI_MCA_plm=nonesuch", "do not start with OMPI_MCA_plm=nonesuch",
        "unset OMPI_MCA_plm"),
    Row("an interface for the launcher that is not there", "export OMPI_MCA_oob_tcp_if_include=nonesuch",
        "do not start with OMPI_MCA_oob_tcp_if_include=nonesuch", "unset OMPI_MCA_oob_tcp_if_include"),
    Row("an unknown way to map ranks", "export OMPI_MCA_rmaps_base_mapping_policy=nonesuch",
        "do not start with OMPI_MCA_rmaps_base_mapping_policy", "unset OMPI_MCA_rmaps_base_mapping_policy"),
    Row("collectives of one rank", "export OMPI_MCA_coll=self", "do not start with OMPI_MCA_coll=self",
        "unset OMPI_MCA_coll"),
    Row("a folder of parts that is not there", "export OMPI_MCA_mca_base_component_path=/nonexistent",
        "do not start with OMPI_MCA_mca_base_component_path", "unset OMPI_MCA_mca_base_component_path"),
    Row("an installation that has moved", "export OPAL_PREFIX=/opt/openmpi", "do not start with OPAL_PREFIX",
        "unset OPAL_PREFIX"),
    Row("a PMIx without a store", "export PMIX_MCA_gds=nonesuch", "do not start with PMIX_MCA_gds=nonesuch",
        "unset PMIX_MCA_gds"),
    Row("transports that UCX does not have", "export OMPI_MCA_pml=ucx UCX_TLS=nonesuch "
        "OMPI_MCA_opal_common_ucx_tls=any OMPI_MCA_opal_common_ucx_devices=any",
        "do not start with UCX_TLS=nonesuch", "unset UCX_TLS"),
    Row("libraries of another installation",
        "echo 'int none;' | cc -shared -fPIC -Wl,-soname,libpmix.so.2 -x c -o $T/libpmix.so.2 -;"
        "export LD_LIBRARY_PATH=$T", "do not start with LD_LIBRARY_PATH=", "unset LD_LIBRARY_PATH", needs="cc"),
    # Files of parameters.
    Row("the user's file has btl = self",
        "mkdir $T/.openmpi; echo 'btl = self' >$T/.openmpi/mca-params.conf; export HOME=$T",
        "mca-params.conf (btl = self)", "leaves them out", "rm $T/.openmpi/mca-params.conf"),
    Row("the user's file has btl = self,tcp",
        "mkdir $T/.openmpi; printf 'btl = self,tcp\\npml = ob1\\n' >$T/.openmpi/mca-params.conf; export HOME=$T",
        "does not use shared memory", "/.openmpi/mca-params.conf", "rm $T/.openmpi/mca-params.conf",
        "btl is 'self,tcp'", "slow"),
    Row("the user's file and a variable contradict each other",
        "mkdir $T/.openmpi; echo 'pml = cm' >$T/.openmpi/mca-params.conf; export HOME=$T OMPI_MCA_btl=self,vader",
        "mca-params.conf (pml = cm)", "leaves them out", "rm $T/.openmpi/mca-params.conf"),
    Row("the system's file has an unknown pml",
        "echo 'pml = nonesuch' >$T/conf; mount --bind $T/conf /etc/openmpi/openmpi-mca-params.conf",
        "/etc/openmpi/openmpi-mca-params.conf (pml = nonesuch)", "OMPI_MCA_mca_base_param_files=/dev/null",
        "export OMPI_MCA_mca_base_param_files=/dev/null", namespaces="-m"),
    # Limits.
    Row("20 open files", "ulimit -S -n 20", "2 ranks do not start", "ulimit -n 1024", seen="20 open files", cheap=True),
    Row("8 processes", "ulimit -S -u 8", "2 ranks do not start", "ulimit -u 4096", seen="8 processes", user=True),
    Row("little address space", "ulimit -S -v 250000", ANY_FAILURE, "ulimit -v unlimited",
        seen="ulimit -v allows each process 244 MiB"),
    Row("small files", "ulimit -S -f 100", "2 ranks do not start", "ulimit -f unlimited",
        seen="ulimit -f allows files of 100 KiB", seconds="12"),
    Row("little processor time", "ulimit -S -t 1", ANY_FAILURE, "ulimit -t unlimited", seen="ulimit -t allows each"),
    # Folders.
    Row("a TMPDIR that is full",
        "mount -t tmpfs -o size=1m none /mnt; head -c 2m /dev/zero >/mnt/all || true; export TMPDIR=/mnt",
        "do not start with TMPDIR=/mnt", "unset TMPDIR", seen="/mnt, where MPI keeps", namespaces="-m"),
    Row("a TMPDIR that is read-only", "mount -t tmpfs -o ro none /mnt; export TMPDIR=/mnt",
        "do not start with TMPDIR=/mnt", "unset TMPDIR", seen="cannot be written", namespaces="-m"),
    Row("a /tmp that is read-only", "mount -t tmpfs -o ro none /tmp",
        "2 ranks do not start", "set TMPDIR", "export TMPDIR=/var/tmp", "/tmp, cannot be written", namespaces="-m"),
    Row("a TMPDIR that is missing", "export TMPDIR=/scratch/job17", "do not start with TMPDIR=/scratch/job17",
        "unset TMPDIR", seen="is missing", user=True),
    Row("a small /dev/shm", "mount -t tmpfs -o size=64k none /dev/shm", "cannot use transport shared",
        "mount -o remount,size=50% /dev/shm", seen="/dev/shm has a size of 64 KiB", severity="slow", namespaces="-m"),
    Row("a full /dev/shm",
        "mount -t tmpfs -o size=64m none /dev/shm; head -c 80m /dev/zero >/dev/shm/all || true",
        "cannot use transport shared", "mount -o remount,size=50% /dev/shm", seen="0 B free of 64 MiB",
        severity="slow", namespaces="-m"),
    Row("no /dev/shm",
        "mount -t tmpfs none /dev; mknod /dev/null c 1 3; mknod /dev/zero c 1 5; mknod /dev/urandom c 1 9",
        "/dev/shm", "on your own node: mount", "mkdir /dev/shm; mount -t tmpfs none /dev/shm", "is missing", "slow",
        namespaces="-m"),
    # Cores.
    Row("OpenMP binds ranks to one core", "export GOMP_CPU_AFFINITY=0", "share core 0",
        "unset what binds threads of OpenMP: GOMP_CPU_AFFINITY=0", "unset GOMP_CPU_AFFINITY", severity="slow"),
    Row("OpenMP binds threads", "export KMP_AFFINITY=compact", "OpenMP binds threads", "unset these variables",
        "unset KMP_AFFINITY", severity="note", mpi=""),
    Row("a shell on one core", "taskset -p -c 0 $$ >/dev/null", "share core 0", "do not use taskset",
        "taskset -p -c 0-1 $$ >/dev/null", severity="slow", needs="taskset"),
    Row("a launcher that puts ranks on one core", 'export HALOCLINE_LAUNCHER="$MPIRUN -n {ranks} taskset -c 0"',
        "share core 0", "remove taskset", 'export HALOCLINE_LAUNCHER="$MPIRUN -n {ranks}"', severity="slow",
        mpi="", needs="taskset"),
    # Namespaces.
    Row("each rank in a process namespace of its own",
        'export HALOCLINE_LAUNCHER="$MPIRUN -n {ranks} unshare -p -f --mount-proc"', ANY_FAILURE,
        "unset HALOCLINE_LAUNCHER", namespaces="-m"),
    Row("a network without an interface", "true", "2 ranks do not start", "ip link set lo up", "ip link set lo up",
        "unable to find network interfaces", namespaces="-n", needs="ip"),
    # A rank that something kills.
    Row("a rank that is killed",
        'printf "#!/bin/bash\\n[ \\$OMPI_COMM_WORLD_RANK = 1 ] && { sleep 0.3; kill -9 \\$\\$; } &\\n" >$T/kill;'
        'printf "exec \\"\\$@\\"\\n" >>$T/kill; chmod +x $T/kill;'
        'export HALOCLINE_LAUNCHER="$MPIRUN -n {ranks} $T/kill"',
        ANY_FAILURE, "lack of memory", "unset HALOCLINE_LAUNCHER", "signal 9"),
    # Sound, though they look odd.
    Row("a host whose name has no address", "hostname nonesuch-host", namespaces="-u", mpi=""),
    Row("settings without effect",
        "export KMP_AFFINITY=none PRTE_MCA_plm=nonesuch HALOCLINE_LAUNCHER=' ' HALOCLINE_SITE_PROOFS=/nonexistent;"
        "export OMPI_MCA_hwloc_base_binding_policy=core; ulimit -S -l 64", mpi=""),
    Row("folders of which nothing is needed",
        "mount -t tmpfs -o noexec none /mnt; export TMPDIR=/mnt; mount -t tmpfs -o ro none $T; export HOME=$T",
        namespaces="-m", mpi=""),
    # MPICH.
    Row("MPICH without its own shared memory, for which UCX has another", "export MPIR_CVAR_NOLOCAL=1", mpi="MPICH"),
    Row("transports that MPICH's UCX does not have", "export UCX_TLS=nonesuch", "do not start with UCX_TLS=nonesuch",
        "unset UCX_TLS", mpi="MPICH"),
    Row("devices that MPICH's UCX does not have, nor needs", "export UCX_NET_DEVICES=nonesuch", mpi="MPICH"),
    Row("an unknown launcher of Hydra", "export HYDRA_LAUNCHER=nonesuch", "do not start with HYDRA_LAUNCHER=nonesuch",
        "unset HYDRA_LAUNCHER", mpi="MPICH"),
    Row("an interface that Hydra does not find", "export HYDRA_IFACE=nonesuch",
        "do not start with HYDRA_IFACE=nonesuch", "unset HYDRA_IFACE", mpi="MPICH"),
    Row("hosts that Hydra does not find", "export HYDRA_HOST_FILE=/nonexistent/hosts",
        "do not start with HYDRA_HOST_FILE", "unset HYDRA_HOST_FILE", mpi="MPICH"),
]

# Settings of tests are none of the row's.
PLAIN = "unset ${!OMPI_MCA_@} ${!UCX_@}"
SOLVE = ["solve", "laplace", "--cells", "64x64", "--sweeps", "4", "--ranks", "2"]


def inside(row, *words):
    """A command in the namespaces of a row, by its user."""
    if row.user:
        words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words)
    return ["unshare", *row.namespaces.split(), *words] if row.namespaces else [*words]


def program(row, more=""):
    """The words that start the command in the row's environment."""
    return inside(row, "bash", "-c", "\n".join([PLAIN, row.breaks, more, 'exec "$@"']), "bash", HALOCLINE)


def require(row, mpi, env):
    if row.mpi not in mpi:
        skip(f"{row.mpi} is meant", needs=row.mpi.replace(" ", "").lower())
    if row.needs and not shutil.which(row.needs):
        skip(f"there is no {row.needs}", needs=row.needs)
    if "share core" in row.what and os.cpu_count() == 1:
        skip("there is one core", needs="cores")
    if row.namespaces or row.user:
        words = inside(row, "bash", "-ec", f"test -x {HALOCLINE}; {row.breaks}")
        if subprocess.run(words, capture_output=True, env={**os.environ, **env}).returncode != 0:
            skip("this cannot be broken here", needs="root")


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name, marks=() if row.cheap else thorough) for row in ROWS])
def test_cause_and_remedy(row, mpi, mpirun, tmp_path):
    home = {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent"} if row.user else {}
    other = shutil.which("mpiexec.mpich" if mpirun.is_open_mpi else "mpirun.openmpi") or ""

    def env(name):
        (tmp_path / name).mkdir()
        return {**NO_GPU, **home, "T": str(tmp_path / name), "MPIRUN": mpirun.path, "OTHER": other}

    require(row, mpi, env("trial"))
    limit = ["--time-limit", row.seconds] if row.seconds else []
    end = run("doctor", *limit, "--json", "-", program=program(row), env=env("before"), cwd="/")
    assert end.out.startswith("{"), end
    report = json.loads(end.out)
    check_doctor(report, end.code)
    findings = report["findings"]
    if row.what:
        finding = next((one for one in findings if any(words in one["what"] for words in row.what.split("|"))), None)
        assert finding, str(findings)
        assert row.seen in finding["seen"] and row.do in finding["do"], str(finding)
        assert finding["severity"] == row.severity == findings[0]["severity"], str(findings)
    else:
        assert not [one for one in findings if one["severity"] in ("broken", "slow") or "OpenMP" in one["what"]]
    end = run(*SOLVE, program=program(row, row.apply or row.do), env=env("after"), cwd="/")
    assert end.code == 0, end
