#!/usr/bin/python3
"""Runs a command as an ordinary user on a machine that forbids user namespaces, without changing the machine.

The sysctl that forbids them counts per user namespace: one is made here, all ids mapped to themselves, and in it the
allowance for more is set to nothing. Needs root.

    without_user_namespaces.py UID COMMAND...
"""
import ctypes
import os
import sys

CLONE_NEWUSER = 0x10000000


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def map_ids(pid):
    """By a process outside, which has the right to map more than itself."""
    for kind in ("uid", "gid"):
        write(f"/proc/{pid}/{kind}_map", "0 0 65536\n")


def main():
    uid, command = int(sys.argv[1]), sys.argv[2:]
    child = os.getpid()
    ready_read, ready_write = os.pipe()
    done_read, done_write = os.pipe()
    helper = os.fork()
    if helper == 0:
        os.read(ready_read, 1)
        map_ids(child)
        os.write(done_write, b"x")
        os._exit(0)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    os.write(ready_write, b"x")
    os.read(done_read, 1)
    os.waitpid(helper, 0)
    write("/proc/sys/user/max_user_namespaces", "0")
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.execv(command[0], command)


main()
