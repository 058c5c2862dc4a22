#!/bin/bash
# usage: unshare --mount --pid --fork --kill-child --mount-proc bash ssh.sh DIR ROOT COMMAND...
# Runs a command where ssh reaches this machine by the names n1 and n2, and nothing by the name
# dead: OpenSSH's server on a free port of the loopback, with keys of its own. The packages that
# are unpacked in ROOT are seen in /usr here and nowhere else. SSH_CONFIG is the client's
# configuration. Exit status 77: this machine does not allow it.
dir=$1; root=$2; shift 2
export SSH_CONFIG=$dir/config
mount --make-rprivate / || exit 77
mount -t overlay overlay -o "lowerdir=$root/usr:/usr" /usr || exit 77
mkdir -p "$dir/run/sshd"
mount --bind "$dir/run" /run || exit 77
{ cat /etc/passwd; echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"; } >"$dir/passwd"
mount --bind "$dir/passwd" /etc/passwd || exit 77
export LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu
ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/user" || exit 1
trap 'kill $server 2>/dev/null' EXIT
for _ in $(seq 20); do
    port=$((20000 + RANDOM % 20000))
    cat >"$dir/sshd_config" <<END
Port $port
ListenAddress 127.0.0.1
HostKey $dir/host
AuthorizedKeysFile $dir/user.pub
PermitRootLogin yes
UsePAM no
StrictModes no
MaxStartups 200
PidFile none
END
    /usr/sbin/sshd -D -e -f "$dir/sshd_config" 2>"$dir/sshd.log" &
    server=$!
    cat >"$SSH_CONFIG" <<END
Host n1 n2
    HostName 127.0.0.1
    Port $port
Host dead
    HostName 127.0.0.1
    Port 1
Host *
    User $(id -un)
    IdentityFile $dir/user
    IdentitiesOnly yes
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
    BatchMode yes
END
    for _ in $(seq 300); do
        kill -0 $server 2>/dev/null || break # the port is another's
        ssh -F "$SSH_CONFIG" n1 true 2>/dev/null && { "$@"; exit; }
        sleep 0.1
    done
done
cat "$dir/sshd.log" >&2
exit 1
