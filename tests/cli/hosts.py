# SPDX-License-Identifier: Apache-2.0
"""Several hosts made of one: network namespaces with names and addresses of their own, joined by a bridge.

For tests of what happens between nodes. They share files and processors, but MPI takes them for nodes and
goes through TCP between them. Making them needs root.
"""

import contextlib
import os
import shutil
import subprocess

from command import HALOCLINE, skip

# Starts a command on one of the hosts, in the place of ssh, with a shell between as there: AGENT [-OPTION ...] HOST COMMAND ...
AGENT = """#!/bin/sh
while case "$1" in -*) true ;; *) false ;; esac; do shift; done
host=$1
shift
exec ip netns exec "{prefix}$host" unshare --uts --ipc sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
"""


class Hosts:
    """What is needed to start something on them."""

    def __init__(self, names, prefix, agent):
        self.names, self.prefix, self.agent = names, prefix, agent

    def on_first(self, *words):
        """The words of a command that runs on the first host."""
        return ["ip", "netns", "exec", self.prefix + self.names[0], "unshare", "--uts", "--ipc", "sh",
                "-c", 'hostname "$1"; shift; exec "$@"', "sh", self.names[0], *words]

    def launcher(self, mpirun, ranks_each):
        """A launcher's words that start {ranks} ranks, so many on each host; `mpirun` is the fixture."""
        slots = ",".join(f"{name}:{ranks_each}" for name in self.names)
        if mpirun.is_open_mpi:
            return (f"{mpirun.path} --mca plm_rsh_agent {self.agent} --mca plm_rsh_no_tree_spawn 1 "
                    "--mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --mca btl self,vader,tcp "
                    f"--bind-to none -H {slots} -n {{ranks}}")
        # Seen with MPICH 4.0.2 and UCX in one run of seven: a rank waits in MPI_Finalize, in
        # ucp_worker_progress, for others that no longer look. A barrier before it does not help.
        if "mpich-hosts" not in os.environ.get("HALOCLINE_REQUIRE", "").split(","):
            skip("MPICH may hang in MPI_Finalize between hosts", needs="mpich-hosts")
        return (f"{mpirun.path} -launcher ssh -launcher-exec {self.agent} -iface eth0 -hosts {slots} "
                "-n {ranks}")

    def mpirun(self, mpirun, ranks_each):
        """Options of run() that start the command on the hosts: run("solve", ..., **hosts.mpirun(mpirun, 2))."""
        ranks = str(ranks_each * len(self.names))
        words = self.launcher(mpirun, ranks_each).replace("{ranks}", ranks).split()
        return {"program": self.on_first(*words, HALOCLINE),
                "env": {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}}


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def require():
    """Skips a test where hosts cannot be made."""
    for program in ("ip", "tc", "unshare", "hostname"):
        shutil.which(program) or skip(f"there is no {program} (scripts/setup)", needs="hosts")
    # Root in a container may not, either.
    if subprocess.run(["unshare", "--net", "--uts", "--ipc", "true"], capture_output=True).returncode != 0:
        skip("only root may make network namespaces", needs="hosts")


def limit(namespace, mbit_per_second):
    """Makes what a host sends slow."""
    subprocess.run(["ip", "netns", "exec", namespace, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf",
                    "rate", f"{mbit_per_second}mbit", "burst", "32kb", "latency", "50ms"],
                   check=True, capture_output=True, text=True)


def make(prefix, names, slow, mbit_per_second):
    """A bridge in a namespace of its own, and a cable from there to each host's eth0."""
    hub = f"{prefix}hub"
    for name in ("hub", *names):
        ip("netns", "add", prefix + name)
    ip("-n", hub, "link", "add", "bridge", "type", "bridge")
    ip("-n", hub, "link", "set", "bridge", "up")
    for number, name in enumerate(names, 1):
        ip("-n", hub, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0",
           "netns", prefix + name)
        ip("-n", hub, "link", "set", f"to-{name}", "master", "bridge", "up")
        ip("-n", prefix + name, "address", "add", f"10.222.0.{number}/24", "dev", "eth0")
        ip("-n", prefix + name, "link", "set", "eth0", "up")
        ip("-n", prefix + name, "link", "set", "lo", "up")
        if name in slow:
            limit(prefix + name, mbit_per_second)


@contextlib.contextmanager
def hosts(folder, names, slow=(), mbit_per_second=100):
    """Makes hosts of these names; `slow` are those that send slowly. Gone at the end of the block."""
    require()
    prefix = f"halo{os.getpid()}-"
    agent = folder / "agent"
    agent.write_text(AGENT.format(prefix=prefix))
    agent.chmod(0o755)
    try:
        try:
            make(prefix, names, slow, mbit_per_second)
        except subprocess.CalledProcessError as error:
            skip(f"no hosts can be made here: {' '.join(error.cmd)}: {error.stderr}", needs="hosts")
        yield Hosts(names, prefix, str(agent))
    finally:
        for name in ("hub", *names):
            subprocess.run(["ip", "netns", "del", prefix + name], capture_output=True)
