// Package jobs finds and inspects the ranks of MPI jobs: those of this machine, those of other machines through
// the launchers and shells that a cluster has anyway (srun, ssh, clush, kubectl), and cores. It starts no
// daemon and uses no protocol of a cluster: any command that runs a program on a node can carry the answers of
// `ompd-inspect job-node`.
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
	mpi         bool // a library of MPI is mapped
}

// Filter selects ranks. The zero value selects all that this user may see.
type Filter struct {
	Slurm string // Slurm job, or job step: 123456, 123456.0
	Under int    // process that started them; 0 for any
	Job   string // name that the launcher uses
}

// Jobs returns the names of the jobs of some processes.
func Jobs(list []Process) (names []string) {
	for _, p := range list {
		if !slices.Contains(names, p.Job) {
			names = append(names, p.Job)
		}
	}
	return names
}

// environ returns the environment of a process; empty if it cannot be read.
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

// Find returns the ranks of this machine that a filter selects, by rank.
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
		if p.State, p.Parent, err = readStat(pid); err != nil {
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

// inStep reports whether a process with an environment belongs to a Slurm job or step. Its control group
// decides, because no program can lose it or inherit it from another job; its environment decides only if Slurm
// uses no control groups.
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

// stepOf returns the Slurm job and step of control groups, as /proc/PID/cgroup lists them, for both versions:
// …/slurm/uid_1000/job_123/step_0/task_1, or …/slurmstepd.scope/job_123/step_0/user/task_1. Both are empty if
// no group belongs to Slurm.
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

// readStat returns the state of a process and its parent.
func readStat(pid int) (state byte, parent int, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // the name may contain any characters
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

// maxGenerations bounds the walk from a process to its ancestors: numbers may be reused meanwhile.
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

// onePerRank keeps one of the processes with the environment of the same rank: scripts that start the rank, and
// its children, have that environment, too. It keeps the one with a library of MPI; without one, the outermost.
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
