// Package jobs finds the ranks of MPI jobs and looks at them: those of this machine, those of
// others through the launchers and shells that a cluster has anyway (srun, ssh, clush,
// kubectl), and cores. It starts no daemon and speaks no protocol of a cluster: whatever
// runs a command on a node carries the answers of `ompd-inspect job-node`.
package jobs

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/mpi"
)

// Process is a rank of a job on this machine.
type Process struct {
	mpi.Rank
	PID, Parent int
	State       byte // as in ps(1)
	mpi         bool // it has a library of MPI
}

// Filter says which ranks are meant. Its zero value means all that this user may see.
type Filter struct {
	Slurm string // job of Slurm, or step of one: 123456, 123456.0
	Under int    // process that started them; 0 for any
	Job   string // as the launcher calls it
}

// Jobs are the names of the jobs that some processes belong to.
func Jobs(list []Process) (names []string) {
	for _, p := range list {
		if !slices.Contains(names, p.Job) {
			names = append(names, p.Job)
		}
	}
	return names
}

// environ is the environment of a process; what cannot be read has none.
func environ(pid int) map[string]string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for kv := range bytes.SplitSeq(b, []byte{0}) {
		if name, value, ok := strings.Cut(string(kv), "="); ok {
			if _, twice := out[name]; !twice {
				out[name] = value
			}
		}
	}
	return out
}

// Find finds the ranks of this machine that a filter means, by rank.
func Find(f Filter) []Process {
	var list []Process
	parents := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		p := Process{PID: pid}
		if p.State, p.Parent, err = stat(pid); err != nil {
			continue
		}
		parents[pid] = p.Parent
		env := environ(pid)
		r, ok := mpi.RankOf(func(name string) string { return env[name] })
		if !ok || pid == os.Getpid() || f.Slurm != "" && !inStep(pid, env, f.Slurm) || f.Job != "" && f.Job != r.Job {
			continue
		}
		p.Rank, p.mpi = r, hasMPI(pid)
		list = append(list, p)
	}
	list = slices.DeleteFunc(list, func(p Process) bool { return f.Under != 0 && !descends(p.PID, f.Under, parents) })
	return onePerRank(list, parents)
}

// inStep reports whether a process with an environment belongs to a job of Slurm, or a step. Its
// control group tells, which no program can forget or inherit from another job; its environment,
// where Slurm uses no control groups.
func inStep(pid int, env map[string]string, id string) bool {
	job, step, hasStep := strings.Cut(id, ".")
	hasJob, ofStep := env["SLURM_JOB_ID"], env["SLURM_STEP_ID"]
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid)); err == nil {
		if j, s := stepOf(string(b)); j != "" {
			hasJob, ofStep = j, s
		}
	}
	return hasJob == job && (!hasStep || ofStep == step)
}

// stepOf are the job of Slurm and the step to which control groups belong, as /proc/PID/cgroup
// lists them, of both versions: …/slurm/uid_1000/job_123/step_0/task_1, or
// …/slurmstepd.scope/job_123/step_0/user/task_1. Both are empty if no group is one of Slurm's.
func stepOf(groups string) (job, step string) {
	for line := range strings.Lines(groups) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), "/")
		if !strings.Contains(path, "slurm") {
			continue
		}
		for dir := range strings.SplitSeq(path, "/") {
			if id, ok := strings.CutPrefix(dir, "job_"); ok {
				job = id
			} else if id, ok := strings.CutPrefix(dir, "step_"); ok && job != "" {
				step = id
			}
		}
		if job != "" {
			return job, step
		}
	}
	return "", ""
}

// stat is the state of a process and who started it.
func stat(pid int) (state byte, parent int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name may have anything
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("/proc/%d/stat is cut off", pid)
	}
	parent, err = strconv.Atoi(fields[1])
	return fields[0][0], parent, err
}

// hasMPI reports whether a process has a library of MPI mapped.
func hasMPI(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	return err == nil && (bytes.Contains(b, []byte("/libmpi")) || bytes.Contains(b, []byte("/libpmpi")))
}

// maxGenerations bounds the walk from a process to its ancestors: numbers are reused while it
// goes on.
const maxGenerations = 64

// descends reports whether a process descends from another.
func descends(pid, ancestor int, parents map[int]int) bool {
	for range maxGenerations {
		if pid == ancestor {
			return true
		}
		next, ok := parents[pid]
		if !ok || next <= 1 {
			return false
		}
		pid = next
	}
	return false
}

// onePerRank leaves of the processes that have one rank's environment the rank itself: scripts
// that start it, and what it starts, have that, too. It is the one that has a library of MPI;
// if none has, the outermost.
func onePerRank(list []Process, parents map[int]int) []Process {
	slices.SortFunc(list, func(a, b Process) int {
		library := func(p Process) int {
			if p.mpi {
				return 0
			}
			return 1
		}
		older := 0
		switch {
		case descends(b.PID, a.PID, parents):
			older = -1
		case descends(a.PID, b.PID, parents):
			older = 1
		}
		return cmp.Or(strings.Compare(a.Job, b.Job), cmp.Compare(a.Rank.Rank, b.Rank.Rank),
			cmp.Compare(library(a), library(b)),
			older, cmp.Compare(a.PID, b.PID))
	})
	return slices.CompactFunc(list, func(a, b Process) bool { return a.Job == b.Job && a.Rank.Rank == b.Rank.Rank })
}
