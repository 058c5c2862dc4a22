#!/bin/bash
# usage: ssh_job.sh DIR TOOL PROGRAM FAULT RANK SAYS VIA
# Starts 4 ranks of a program on MPICH, and asks the tool for those of the hosts n1 and dead by a
# command, until what it says has SAYS in it; prints the last answer and its exit status.
dir=$1 tool=$2 program=$3 fault=$4 rank=$5 says=$6 via=$7
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
mpiexec.hydra -n 4 "$program" "$fault" "$rank" >"$dir/ranks" 2>&1 &
until grep -q READY "$dir/ranks"; do
    kill -0 $! 2>/dev/null || { cat "$dir/ranks"; exit 1; }
    sleep 0.1
done
for _ in $(seq 60); do
    "$tool" job --hosts n1,dead --via "$via" --tool "$tool" --json --timeout 0 --rank-timeout 0 --interval 300ms \
        >"$dir/answer" 2>"$dir/complaint"
    status=$?
    grep -q "$says" "$dir/answer" && break
done
cat "$dir/answer"; cat "$dir/complaint" >&2
exit $status
