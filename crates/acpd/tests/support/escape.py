"""Starts `sleep NUMBER` as a process that hides where it comes from: escape.py NUMBER [stay].

It has a session of its own, another limit of real-time CPU time, an empty environment, and parents that are gone. With `stay`, this
program does not end.
"""

import os
import resource
import sys
import time

up, told = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        try:
            resource.setrlimit(resource.RLIMIT_RTTIME, (1000000, 1000000))
        except (ValueError, OSError):
            pass  # refused; the rest is done all the same
        os.set_inheritable(told, False)
        os.execve("/bin/sleep", ["sleep", sys.argv[1]], {})
    os._exit(0)
os.close(told)
os.wait()
os.read(up, 1)
print("hidden", flush=True)
if sys.argv[2:]:
    time.sleep(1000)
