package live

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
)

const (
	// maxGroupDepth bounds the control groups around a process.
	maxGroupDepth = 64
	// maxText bounds a text of the kernel that is read as a whole; a list of
	// mounts is the longest.
	maxText = 16 << 20
)

// readText reads a file of the kernel; empty if it cannot be read.
func readText(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText))
	if err != nil {
		return ""
	}
	return string(b)
}

// Controllers of control groups.
const (
	cpuController    = "cpu"
	cpusetController = "cpuset"
)

// group is a control group.
type group struct {
	dir     string // where it is mounted
	name    string // as the kernel calls it
	unified bool   // of version 2
}

// groupsOf lists the control groups with a controller that a process is in, the
// innermost first, given the text of a mountinfo (proc(5)) and of the process's cgroup
// (cgroups(7)).
func groupsOf(controller, mounts, membership string) []group {
	var out []group
	for line := range strings.Lines(membership) {
		// "4:cpu,cpuacct:/path" of version 1, "0::/path" of version 2
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 || parts[1] != "" && !slices.Contains(strings.Split(parts[1], ","), controller) {
			continue
		}
		unified := parts[1] == ""
		root, point, ok := groupMount(controller, mounts, unified)
		rest, inside := isUnder(parts[2], root)
		if !ok || !inside {
			continue
		}
		for range maxGroupDepth {
			out = append(out, group{dir: point + rest, name: cmp.Or(strings.TrimSuffix(root, "/")+rest, "/"),
				unified: unified})
			if rest == "" {
				break
			}
			if rest = path.Dir(rest); rest == "/" {
				rest = ""
			}
		}
	}
	return out
}

// isUnder reports whether the control group at path is the one at dir or lies in it, and
// the rest of its path.
func isUnder(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	rest = strings.TrimSuffix(rest, "/")
	return rest, ok && (rest == "" || rest[0] == '/') && !strings.HasPrefix(rest+"/", "/../")
}

// groupMount finds where the control groups with a controller are mounted, and which
// of them is the root there.
func groupMount(controller, mounts string, unified bool) (root, point string, ok bool) {
	for line := range strings.Lines(mounts) {
		// "36 35 98:0 ROOT POINT OPTIONS … - TYPE SOURCE SUPEROPTIONS"
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		at, of := strings.Fields(before), strings.Fields(after)
		if !found || len(at) < 5 || len(of) < 3 {
			continue
		}
		split := of[0] == "cgroup" && slices.Contains(strings.Split(of[2], ","), controller)
		if unified && of[0] == "cgroup2" || !unified && split {
			return at[3], at[4], true
		}
	}
	return "", "", false
}

// groupTree is the control groups of a process as the kernel's files show them.
type groupTree struct {
	root string // directory that stands for "/"; empty but in tests
	pid  int
}

// quota is the tightest quota of the groups.
func (t groupTree) quota() (best callbacks.ProcessorQuota, found bool) {
	t.each(cpuController, func(g group, read func(string) string) bool {
		q, ok := g.quota(read)
		if ok && (!found || q.Processors < best.Processors) {
			best, found = q, true
		}
		return true
	})
	return best, found
}

// cpuset is the processors of the innermost group that has some.
func (t groupTree) cpuset() (processors, source string) {
	t.each(cpusetController, func(g group, read func(string) string) bool {
		processors, source = g.cpuset(read)
		return processors == ""
	})
	return processors, source
}

// each yields the control groups of the process, the innermost first, with what reads
// their files. They are read where this process sees them, or if it sees none, where the
// other does, as in another container.
func (t groupTree) each(controller string, yield func(g group, read func(name string) string) bool) {
	membership := readText(t.root + procPath(t.pid, "cgroup"))
	for _, side := range []struct{ mounts, root string }{
		{"/proc/self/mountinfo", ""}, {procPath(t.pid, "mountinfo"), procPath(t.pid, "root")},
	} {
		groups := groupsOf(controller, readText(t.root+side.mounts), membership)
		for _, g := range groups {
			if !yield(g, func(name string) string { return readText(t.root + side.root + g.dir + "/" + name) }) {
				return
			}
		}
		if len(groups) > 0 {
			return
		}
	}
}

// quota is the limit of a control group, given what reads its files; not ok if it has
// none.
func (g group) quota(read func(name string) string) (callbacks.ProcessorQuota, bool) {
	var quota, period, source string
	if g.unified {
		source = "cpu.max"
		if words := strings.Fields(read(source)); len(words) == 2 {
			quota, period = words[0], words[1]
		}
	} else {
		source = "cpu.cfs_quota_us"
		quota, period = strings.TrimSpace(read(source)), strings.TrimSpace(read("cpu.cfs_period_us"))
	}
	q, err1 := strconv.ParseUint(quota, 10, 63)
	p, err2 := strconv.ParseUint(period, 10, 63)
	if err1 != nil || err2 != nil || q == 0 || p == 0 { // "max" and -1 are no limit
		return callbacks.ProcessorQuota{}, false
	}
	out := callbacks.ProcessorQuota{
		Processors: float64(q) / float64(p),
		Source: fmt.Sprintf("%s of control group %s: %v in each %v", source, g.name,
			time.Duration(q)*time.Microsecond, time.Duration(p)*time.Microsecond),
	}
	for line := range strings.Lines(read("cpu.stat")) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		switch {
		case err != nil:
		case key == "nr_periods":
			out.Periods = n
		case key == "nr_throttled":
			out.Throttled = n
		}
	}
	return out, true
}

// cpuset is the processors of a control group, given what reads its files; empty if
// it has none of its own.
func (g group) cpuset(read func(name string) string) (processors, source string) {
	names := []string{"cpuset.effective_cpus", "cpuset.cpus"}
	if g.unified {
		names = []string{"cpuset.cpus.effective"}
	}
	for _, name := range names {
		if list := strings.TrimSpace(read(name)); list != "" {
			return list, fmt.Sprintf("%s of control group %s: %s", name, g.name, list)
		}
	}
	return "", ""
}
