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
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/readers"
	"github.com/ompd-inspect/ompd-inspect/live"
)

// Process is a rank of a job on this machine.
type Process struct {
	mpi.Rank
	PID, Parent int
	State       byte   // as in ps(1)
	Program     string // base name of the executable; empty if it is unknown
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
		p.Rank, p.Program = r, program(pid)
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

// program returns the base name of the executable of a process; "" if it is unknown.
func program(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(filepath.Base(path), " (deleted)")
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

// use is the use that a process makes of MPI and OpenMP. The lower one shows more certainly that the process is the
// program of its rank.
type use int

const (
	usesMPI    use = iota // a library of MPI is mapped
	usesOpenMP            // an OpenMP runtime is mapped or linked in
	usesNeither
	isWrapper // a shell, or a program that starts another and waits for it
)

// wrappers are the base names of shells, and of programs that start another one and wait for it.
var wrappers = []string{
	"ash", "bash", "busybox", "csh", "dash", "fish", "ksh", "ksh93", "mksh", "sh", "tcsh", "zsh",
	"apptainer", "catchsegv", "dumb-init", "gdb", "gdbserver", "ltrace", "ompd-inspect", "perf", "script", "setsid",
	"singularity", "srun", "starter", "starter-suid", "strace", "su", "sudo", "time", "timeout", "tini", "xargs",
}

// useOf returns the use of p. found caches the results for files of OpenMP.
func (p Process) useOf(found *live.RuntimeSearch) use {
	switch {
	case hasMPI(p.PID):
		return usesMPI
	case found.Uses(p.PID):
		return usesOpenMP
	case slices.Contains(wrappers, p.Program):
		return isWrapper
	}
	return usesNeither
}

// onePerRank keeps one of the processes with the environment of the same rank: scripts and wrappers that start the
// rank, and its children, have that environment, too. The program of the rank is the outermost process with a library
// of MPI; without one, the outermost with an OpenMP runtime; without one, the innermost that is no wrapper.
func onePerRank(list []Process, parents map[int]int) []Process {
	found := live.NewRuntimeSearch(readers.Classify)
	slices.SortFunc(list, func(a, b Process) int {
		return cmp.Or(strings.Compare(a.Job, b.Job), cmp.Compare(a.Rank.Rank, b.Rank.Rank), cmp.Compare(a.PID, b.PID))
	})
	var out []Process
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(p Process) bool {
			return p.Job != list[0].Job || p.Rank.Rank != list[0].Rank.Rank
		})
		if n < 0 {
			n = len(list)
		}
		out = append(out, programOf(list[:n], parents, found))
		list = list[n:]
	}
	return out
}

// programOf returns the program of a rank among its processes.
func programOf(list []Process, parents map[int]int, found *live.RuntimeSearch) Process {
	if len(list) == 1 {
		return list[0]
	}
	// The least order wins: by the use, then by the number of ancestors, negative where the innermost wins.
	order := func(p Process) (use, int) {
		u, depth := p.useOf(found), generations(p.PID, parents)
		if u == usesNeither {
			depth = -depth
		}
		return u, depth
	}
	best := list[0]
	bestUse, bestDepth := order(best)
	for _, p := range list[1:] {
		if u, depth := order(p); cmp.Or(cmp.Compare(u, bestUse), cmp.Compare(depth, bestDepth)) < 0 {
			best, bestUse, bestDepth = p, u, depth
		}
	}
	return best
}

// generations returns the number of ancestors of a process.
func generations(pid int, parents map[int]int) (n int) {
	for ; n < maxGenerations; n++ {
		next, ok := parents[pid]
		if !ok || next <= 1 {
			break
		}
		pid = next
	}
	return n
}
