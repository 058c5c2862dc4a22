package live

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/omptest"
)

// treePID is the process id in the test trees of control groups.
const treePID = 42

// Mounts of control groups, in the format of mountinfo.
const (
	unifiedMount = "29 24 0:25 / /sys/fs/cgroup rw,nosuid shared:8 - cgroup2 cgroup2 rw,nsdelegate\n"
	splitMounts  = "30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"31 24 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n" +
		"32 24 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

// fakeTree writes files below a directory that replaces "/".
func fakeTree(t *testing.T, files map[string]string) groupTree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return groupTree{root: root, pid: treePID}
}

// treeCase is a tree of control groups and the expected result.
type treeCase struct {
	files         map[string]string
	quota, cpuset string // empty: unlimited
}

// treeCases are trees as systemd, containers and machines with both versions have them.
func treeCases() map[string]treeCase {
	return map[string]treeCase{
		"the outer group of version 2 is the tighter": {map[string]string{
			"proc/self/mountinfo": unifiedMount, "proc/42/cgroup": "0::/batch.slice/job 7.scope\n",
			"sys/fs/cgroup/batch.slice/cpu.max": "150000 100000\n",
			"sys/fs/cgroup/batch.slice/cpu.stat": "nr_periods 30\nnr_throttled " +
				"12\nthrottled_usec 5\n",
			"sys/fs/cgroup/batch.slice/cpuset.cpus.effective":               "0-7\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/cpu.max":                 "400000 100000\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/cpuset.cpus.effective":   "2-3\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/cpuset.cpus":             "\n",
			"sys/fs/cgroup/batch.slice/other.scope/cpu.max":                 "1000 100000\n",
			"sys/fs/cgroup/batch.slice/other.scope/cpuset.cpus.effective":   "5\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/inner/cpu.max":           "1000 100000\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/cpuset.cpus.partition":   "member\n",
			"sys/fs/cgroup/batch.slice/job 7.scope/cpuset.cpus.effective.x": "9\n",
		}, "1.5 12/30 cpu.max of control group /batch.slice: 150ms in each 100ms",
			"2-3 cpuset.cpus.effective of control group /batch.slice/job 7.scope: 2-3"},
		"a group of version 2 without the controllers inherits": {map[string]string{
			"proc/self/mountinfo": unifiedMount, "proc/42/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/cgroup.procs": "42\n", "sys/fs/cgroup/a/cpu.max": "max 100000\n",
			"sys/fs/cgroup/a/cpuset.cpus.effective": "1\n",
		}, "", "1 cpuset.cpus.effective of control group /a: 1"},
		"the root of version 2 has no quota": {map[string]string{
			"proc/self/mountinfo": unifiedMount, "proc/42/cgroup": "0::/\n",
			"sys/fs/cgroup/cpuset.cpus.effective": "0-1\n",
		}, "", "0-1 cpuset.cpus.effective of control group /: 0-1"},
		"version 1 has the controllers where both are mounted": {map[string]string{
			"proc/self/mountinfo": splitMounts, "proc/42/cgroup": "5:cpuset:/set\n4:cpu:/half\n0::/x\n",
			"sys/fs/cgroup/cpu/half/cpu.cfs_quota_us":        "50000\n",
			"sys/fs/cgroup/cpu/half/cpu.cfs_period_us":       "100000\n",
			"sys/fs/cgroup/cpuset/set/cpuset.effective_cpus": "3\n",
		}, "0.5 0/0 cpu.cfs_quota_us of control group /half: 50ms in each 100ms",
			"3 cpuset.effective_cpus of control group /set: 3"},
		"a container's own mounts, where we see none": {map[string]string{
			"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda rw\n", "proc/42/cgroup": "0::/pod\n",
			"proc/42/mountinfo":                      unifiedMount,
			"sys/fs/cgroup/pod/cpu.max":              "1000 1000\n",
			"proc/42/root/sys/fs/cgroup/pod/cpu.max": "200000 100000\n",
		}, "2 0/0 cpu.max of control group /pod: 200ms in each 100ms", ""},
		"no process": {map[string]string{"proc/self/mountinfo": unifiedMount, "sys/fs/cgroup/cpu.max": "1 1\n"}, "",
			""},
	}
}

// TestGroupTree reads quotas and processors from file trees of both versions, independent of this
// machine.
func TestGroupTree(t *testing.T) {
	for name, c := range treeCases() {
		t.Run(name, func(t *testing.T) {
			tree := fakeTree(t, c.files)
			quota := ""
			if q, ok := tree.tightestQuota(); ok {
				quota = fmt.Sprintf("%v %d/%d %s", q.Processors, q.Throttled, q.Periods, q.Source)
			}
			omptest.Equal(t, "quota", quota, c.quota)
			cpuset, source := tree.innermostCpuset()
			if source != "" {
				cpuset += " " + source
			}
			omptest.Equal(t, "cpuset", cpuset, c.cpuset)
		})
	}
}
