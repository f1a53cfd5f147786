#!/bin/sh
# Runs one program for as long as the process at the other end of standard input lives.
#
#   sh supervise.sh LOG PROGRAM ARGUMENT...
#
# The kernel closes the pipe on standard input when its writer ends, however it ends (SIGKILL too), and then the whole
# process group is killed: the program, what it started, and this shell. So it must be started in a group of its own.
# The program's process id is the first line of standard output, its own output goes to LOG, and its exit code is the
# exit code.
log=$1
shift

# The log must exist before the process id is reported.
: >>"$log"

# Background jobs get /dev/null as their standard input, so the pipe is kept as descriptor 3.
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
program=$!
echo "$program"

(
  while read -r _ <&3; do :; done
  kill -KILL 0
) &
watcher=$!

wait "$program"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
