#!/bin/bash
# usage: unshare --mount --pid --fork --kill-child --mount-proc bash slurm.sh DIR ROOT COMMAND...
# Runs a command where a Slurm of four virtual nodes runs. The packages that are unpacked in
# ROOT are seen in /usr here and nowhere else. Each node has a host name, process numbers and
# a /tmp of its own. Exit status 77: this machine does not allow it.
dir=$1; root=$2; shift 2
export SLURM_CONF=$dir/slurm.conf
mount --make-rprivate / || exit 77
mount -t overlay overlay -o "lowerdir=$root/usr:/usr" /usr || exit 77
{ cat /etc/hosts; echo 127.0.0.1 node1 node2 node3 node4; } >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts || exit 77
lib=/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH=$lib:$lib/openmpi/lib:$lib/pmix2/lib:$root/lib/x86_64-linux-gnu
mkdir -p "$dir/state"
for i in 1 2 3 4; do mkdir -p "$dir/spool-node$i"; done
head -c 1024 /dev/urandom >"$dir/munge.key"; chmod 400 "$dir/munge.key"; chmod 755 "$dir"
cat >"$dir/cgroup.conf" <<END
CgroupPlugin=cgroup/v1
END
cat >"$SLURM_CONF" <<END
ClusterName=virtual
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=16917
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdPidFile=$dir/slurmd-%n.pid
SlurmdLogFile=$dir/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=node[1-4] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[17101-17104] CPUs=64 RealMemory=2000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
END
nodes=()
trap 'kill -9 "${nodes[@]}" $(cat "$dir"/slurmctld.pid "$dir"/munged.pid) 2>/dev/null; wait 2>/dev/null' EXIT
munged --force --key-file="$dir/munge.key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
    --log-file="$dir/munged.log" --seed-file="$dir/munged.seed" || exit 1
slurmctld-wlm -f "$SLURM_CONF" -c || exit 1
for i in 1 2 3 4; do
    setsid unshare --mount --uts --pid --fork --kill-child bash -c "
        mount --make-rprivate /; mount -t proc proc /proc; mount -t tmpfs tmp /tmp; hostname node$i
        slurmd-wlm -D -d /usr/sbin/slurmstepd-wlm -f $SLURM_CONF -N node$i; exit" >"$dir/out-node$i" 2>&1 </dev/null &
    nodes+=($!)
done
for _ in $(seq 600); do
    [ "$(sinfo -h -t idle -o %D)" = 4 ] && break
    sleep 0.1
done
"$@"
