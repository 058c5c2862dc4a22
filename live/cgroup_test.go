package live

import (
	"fmt"
	"slices"
	"testing"
)

// TestGroups finds control groups in the kernel's texts on mounts and processes: version 1, version
// 2, and from within a container.
func TestGroups(t *testing.T) {
	const v1 = "30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"31 24 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	const v2 = "29 24 0:25 / /sys/fs/cgroup rw,nosuid shared:8 - cgroup2 cgroup2 rw,nsdelegate\n"
	for name, c := range map[string]struct {
		mounts, membership string
		want               []group
	}{
		"version 1": {v1, "5:cpuset:/a\n4:cpu,cpuacct:/jobs/7\n0::/\n", []group{
			{"/sys/fs/cgroup/cpu,cpuacct/jobs/7", "/jobs/7", false},
			{"/sys/fs/cgroup/cpu,cpuacct/jobs", "/jobs", false},
			{"/sys/fs/cgroup/cpu,cpuacct", "/", false},
		}},
		"version 2": {v2, "0::/user.slice/a:b\n", []group{
			{"/sys/fs/cgroup/user.slice/a:b", "/user.slice/a:b", true},
			{"/sys/fs/cgroup/user.slice", "/user.slice", true},
			{"/sys/fs/cgroup", "/", true},
		}},
		"in its root": {v2, "0::/\n", []group{
			{"/sys/fs/cgroup", "/", true},
		}},
		"another root": {"29 24 0:25 /../other /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/../other/sub\n", []group{
			{"/sys/fs/cgroup/sub", "/../other/sub", true},
			{"/sys/fs/cgroup", "/../other", true},
		}},
		"not mounted here": {v2[:len(v2)-1] + "\n29 24 0:25 /x /y ro - cgroup2 cgroup rw\n", "4:cpu:/x\n", nil},
		"above its root":   {v2, "0::/../other\n", nil},
		"outside":          {"29 24 0:25 /jobs /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/jobs7\n", nil},
		"nonsense":         {"- \n - - -\n29 24 0:25 / /p rw - cgroup2 c", "0:\n::\nx\n", nil},
	} {
		if got := groupsOf(cpuController, c.mounts, c.membership); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestQuota reads the limits of control groups of both versions.
func TestQuota(t *testing.T) {
	for name, c := range map[string]struct {
		unified bool
		files   map[string]string
		want    string
	}{
		"version 1": {false, map[string]string{
			"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n",
			"cpu.stat": "nr_periods 12\nnr_throttled 11\nthrottled_time 5\n",
		}, "0.5 11/12 cpu.cfs_quota_us of control group /g: 50ms in each 100ms"},
		"version 2": {true, map[string]string{
			"cpu.max": "150000 100000\n", "cpu.stat": "usage_usec 1\nnr_periods 3\nnr_throttled 0\n",
		}, "1.5 0/3 cpu.max of control group /g: 150ms in each 100ms"},
		"no limit":       {true, map[string]string{"cpu.max": "max 100000\n"}, ""},
		"no limit, 1":    {false, map[string]string{"cpu.cfs_quota_us": "-1\n", "cpu.cfs_period_us": "100000\n"}, ""},
		"the root of 2":  {true, nil, ""},
		"period of zero": {true, map[string]string{"cpu.max": "1000 0\n"}, ""},
		"nonsense":       {true, map[string]string{"cpu.max": "1e3 x y\n"}, ""},
	} {
		q, ok := group{name: "/g", unified: c.unified}.readQuota(func(f string) string { return c.files[f] })
		got := ""
		if ok {
			got = fmt.Sprintf("%v %d/%d %s", q.Processors, q.Throttled, q.Periods, q.Source)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
