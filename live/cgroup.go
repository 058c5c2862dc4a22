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
	// maxGroupDepth bounds the nesting of control groups around a process.
	maxGroupDepth = 64
	// maxText bounds a text file of the kernel, in bytes; a list of mounts is the longest.
	maxText = 16 << 20
)

// readText reads a file of the kernel; it returns "" if it cannot be read.
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
	dir     string // its mount point
	name    string // as the kernel calls it
	unified bool   // of version 2
}

// groupsOf returns the control groups of a process with a controller, the innermost first. It
// parses the text of a mountinfo (proc(5)) and of the process's cgroup file (cgroups(7)).
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

// isUnder reports whether the control group at path is dir or below dir, and returns the rest of
// its path.
func isUnder(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	rest = strings.TrimSuffix(rest, "/")
	return rest, ok && (rest == "" || rest[0] == '/') && !strings.HasPrefix(rest+"/", "/../")
}

// groupMount finds the mount point of the control groups with a controller, and the root group of
// that mount.
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
	root string // directory that replaces "/"; set only in tests
	pid  int
}

// tightestQuota returns the tightest quota of the groups.
func (t groupTree) tightestQuota() (best callbacks.ProcessorQuota, found bool) {
	t.visitGroups(cpuController, func(g group, read func(string) string) bool {
		q, ok := g.readQuota(read)
		if ok && (!found || q.Processors < best.Processors) {
			best, found = q, true
		}
		return true
	})
	return best, found
}

// innermostCpuset returns the processors of the innermost group that limits them.
func (t groupTree) innermostCpuset() (processors, source string) {
	t.visitGroups(cpusetController, func(g group, read func(string) string) bool {
		processors, source = g.readCpuset(read)
		return processors == ""
	})
	return processors, source
}

// visitGroups yields the control groups of the process, the innermost first, with a function that reads
// their files. The files are read in this process's view, or if the groups are not visible there,
// in the other process's view, as for another container.
func (t groupTree) visitGroups(controller string, yield func(g group, read func(name string) string) bool) {
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

// readQuota returns the limit of a control group; false if it is not limited.
func (g group) readQuota(read func(name string) string) (callbacks.ProcessorQuota, bool) {
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

// readCpuset returns the processors of a control group; "" if it does not limit them.
func (g group) readCpuset(read func(name string) string) (processors, source string) {
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
