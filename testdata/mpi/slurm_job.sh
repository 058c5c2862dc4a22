#!/bin/bash
# usage: slurm_job.sh DIR TOOL PROGRAM MPI RANKS FAULT RANK SAYS [NODE TIMEOUT]
# Starts RANKS ranks of a program, which srun connects by its plugin MPI, on the four nodes, and asks the tool for the job until what it
# says has SAYS in it; prints the last answer and its exit status. The slurmd of NODE is stopped
# before, and the tool waits TIMEOUT at most.
dir=$1 tool=$2 program=$3 mpi=$4 ranks=$5 fault=$6 rank=$7 says=$8 node=$9 timeout=${10:-5m}
export OMPI_MCA_btl=self,tcp,vader OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_mpi_yield_when_idle=1 OPAL_PREFIX=/usr
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive OMPI_MCA_mca_base_component_show_load_errors=0
# A rank may die while MPI starts on a machine that is busy: the job is started again then.
export OMPI_MCA_pml=ob1 OMPI_MCA_osc=^ucx
# MPICH's UCX takes the nodes for one machine, and would share memory between them.
export UCX_TLS=tcp,self UCX_NET_DEVICES=lo
for _ in $(seq 5); do
    srun -N4 -n"$ranks" --mpi="$mpi" --kill-on-bad-exit=1 "$program" "$fault" "$rank" >"$dir/ranks" 2>&1 &
    until grep -q READY "$dir/ranks" || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
    grep -q READY "$dir/ranks" && break
done
kill -0 $! 2>/dev/null || { cat "$dir/ranks"; exit 1; }
job=$(squeue -h -t R -o %i | head -1)
[ -z "$node" ] || kill -STOP $(pgrep -f -- "^slurmd-wlm .*-N $node\$")
for _ in $(seq 30); do
    "$tool" job "$job" --json --send --timeout "$timeout" --rank-timeout 0 --interval 300ms \
        >"$dir/answer" 2>"$dir/complaint"
    status=$?
    grep -q "$says" "$dir/answer" && break
done
cat "$dir/answer"; cat "$dir/complaint" >&2
scancel "$job"
exit $status
