package rtl

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/picture"
)

// TargetCall describes a function by which compiled code executes a target construct. It returns when the construct is
// complete, or when a deferred one has begun.
type TargetCall struct {
	Kind   picture.WaitKind // of a thread that waits in it
	Device int              // number of the argument with the device's number
	Region int              // number of the argument that identifies the region; -1 without one
	// Fallback is set if that argument is the region's function for the host, which the function calls if no device
	// executes the region.
	Fallback bool
}

// Construct returns the name of the construct.
func (c TargetCall) Construct() string {
	switch c.Kind {
	case picture.WaitMapping:
		return "target data"
	case picture.WaitUpdate:
		return "target update"
	}
	return "target"
}

// TargetCallOf returns the description of the function with the given name.
func TargetCallOf(name string) (TargetCall, bool) {
	c, ok := targetCalls[strings.TrimSuffix(name, "_nowait")]
	if !ok {
		c, ok = targetCalls[strings.Replace(name, "_nowait_mapper", "_mapper", 1)]
	}
	return c, ok
}

// targetCalls has the functions of LLVM's offloading library and of GNU's runtime, without those for deferred
// constructs. Functions whose names end in _mapper have the place in the source as their first argument; since LLVM 15,
// compilers call __tgt_target_kernel for regions.
var targetCalls = map[string]TargetCall{
	"__tgt_target_kernel":            {Kind: picture.WaitDevice, Device: 1, Region: 4},
	"__tgt_target_mapper":            {Kind: picture.WaitDevice, Device: 1, Region: 2},
	"__tgt_target_teams_mapper":      {Kind: picture.WaitDevice, Device: 1, Region: 2},
	"__tgt_target":                   {Kind: picture.WaitDevice, Device: 0, Region: 1},
	"__tgt_target_teams":             {Kind: picture.WaitDevice, Device: 0, Region: 1},
	"__tgt_target_data_begin_mapper": {Kind: picture.WaitMapping, Device: 1, Region: -1},
	"__tgt_target_data_end_mapper":   {Kind: picture.WaitMapping, Device: 1, Region: -1},
	"__tgt_target_data_begin":        {Kind: picture.WaitMapping, Device: 0, Region: -1},
	"__tgt_target_data_end":          {Kind: picture.WaitMapping, Device: 0, Region: -1},

	"__tgt_target_data_update_mapper": {Kind: picture.WaitUpdate, Device: 1, Region: -1},
	"__tgt_target_data_update":        {Kind: picture.WaitUpdate, Device: 0, Region: -1},

	"GOMP_target_ext": {Kind: picture.WaitDevice, Device: 0, Region: 1, Fallback: true},
	"GOMP_target":     {Kind: picture.WaitDevice, Device: 0, Region: 1, Fallback: true},
}

// IsOffloadModule reports whether a file is LLVM's offloading library, a plugin of it, or the library by which the
// plugin for the host calls target regions.
func IsOffloadModule(path string) bool {
	return strings.HasPrefix(filepath.Base(path), "libomptarget.") || IsForeignCaller(path)
}

// IsForeignCaller reports whether a file is the library by which the plugin for the host calls target regions.
func IsForeignCaller(path string) bool { return strings.HasPrefix(filepath.Base(path), "libffi.") }

// IsDeviceDriver reports whether a file is a library by which plugins drive devices.
func IsDeviceDriver(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "libcuda.") || strings.HasPrefix(base, "libhsa-runtime64.") ||
		strings.HasPrefix(base, "libamdhip64.") || strings.HasPrefix(base, "libze_")
}

// firstBuiltIn is the release of LLVM's offloading library from which on it contains its plugins.
const firstBuiltIn = 19

// OffloadFiles returns the files that are LLVM's offloading library, and those that are plugins for devices, also of
// GNU's runtime.
func OffloadFiles(files []string) (libraries, plugins []string) {
	for _, path := range files {
		switch base := filepath.Base(path); {
		case strings.HasPrefix(base, "libomptarget.so"):
			libraries = append(libraries, path)
		case strings.HasPrefix(base, "libomptarget.rtl."), strings.HasPrefix(base, "libgomp-plugin-"):
			plugins = append(plugins, path)
		}
	}
	return libraries, plugins
}

// MissingPlugin explains that a process with the given files has the library for target constructs, but no plugin for
// devices. call is the function by which the program executes a construct, "" if it called none. The explanation is ""
// if a plugin is loaded, which may have found no device, or if that is not known.
func MissingPlugin(call string, files []string) string {
	libraries, plugins := OffloadFiles(files)
	switch {
	case len(files) == 0 || len(plugins) > 0:
		return ""
	case strings.HasPrefix(call, "GOMP_"):
		return "libgomp found no device: no plugin is loaded"
	case len(libraries) != 1:
		return ""
	}
	release := strings.TrimPrefix(filepath.Base(libraries[0]), "libomptarget.so.")
	major, _, _ := strings.Cut(release, ".")
	if n, err := strconv.Atoi(major); err != nil || n >= firstBuiltIn {
		return ""
	}
	return "LLVM's offloading library found no device: no plugin is loaded"
}

// CopiesVariables reports whether an exported function of a runtime may execute a construct at once, with copies of
// variables on its own stack: libgomp's for tasks, and for target constructs on the host.
func CopiesVariables(name string) bool {
	return name == "GOMP_task" || strings.HasPrefix(name, "GOMP_taskloop") || strings.HasPrefix(name, "GOMP_target") ||
		strings.HasPrefix(name, "GOMP_teams")
}
