#!/bin/sh
# Runs one program for as long as the process at the other end of standard input lives.
#
#   sh supervise.sh LOG PROGRAM ARGUMENT...
#
# The kernel closes the pipe on standard input when its writer ends, however it ends (SIGKILL too), and then the program
# is killed. The program's process id is the first line of standard output, its own output goes to LOG, and its exit
# code is the exit code.
log=$1
shift

# Background jobs get /dev/null as their standard input, so the pipe is kept as descriptor 3.
exec 3<&0
"$@" </dev/null >>"$log" 2>&1 3<&- &
program=$!
echo "$program"

(
  while read -r _ <&3; do :; done
  kill -KILL "$program" 2>/dev/null
) &
watcher=$!

wait "$program"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
