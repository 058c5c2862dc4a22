package inspect

import (
	"slices"
	"sync"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// explainHostTargets adds the reasons why target regions are executed by the host.
func (p *factParts) explainHostTargets(pic *picture.Picture) {
	files := sync.OnceValue(func() []string { return moduleFiles(p.environment.target) })
	for i := range pic.Threads {
		t := pic.Threads[i].Target
		if t == nil || !t.OnHost || t.HostReason != "" {
			continue
		}
		if v, _ := p.settings.Value("target-offload-var"); v == "disabled" {
			t.HostReason = "OMP_TARGET_OFFLOAD=disabled"
			continue
		}
		t.HostReason = rtl.MissingPlugin(t.Call, files())
		p.checkRequest(t)
	}
}

// checkRequest records that the program asked for a device, and that there is none. The number 0 may stand for the host
// then, as omp_get_initial_device returns it without devices, and the program may have made that number the default.
func (p *factParts) checkRequest(t *picture.TargetConstruct) {
	policy, known := p.settings.Value("target-offload-var")
	asked := t.DefaultDevice && !p.environment.maySetDevice() || t.Device != nil && *t.Device > 0
	if t.Call == "" || !t.Executes || !asked || !known || policy == "disabled" {
		return
	}
	if devices, libraries, err := p.devices.find(); err != nil || libraries != 1 || len(devices) > 0 {
		return
	}
	t.NoDevice = true
	if t.HostReason == "" {
		t.HostReason = "LLVM's offloading library found no device that can execute the program's code for devices"
	}
}

// setDevice is the function, in C and in Fortran, that sets the default device.
var setDevice = []string{"omp_set_default_device", "omp_set_default_device_", "omp_set_default_device_8_"}

// maySetDevice reports whether a module of the program is linked with the function that sets the default device. It
// returns true for a module whose links are unknown.
func (e *environment) maySetDevice() bool {
	lister, ok := e.target.(callbacks.ModuleLister)
	if !ok || e.sym == nil {
		return true
	}
	modules, _ := lister.Modules()
	return slices.ContainsFunc(modules, func(m *callbacks.Module) bool {
		_, isRuntime := e.sym.LookupExported(setDevice[0], m.Path)
		return !isRuntime && slices.ContainsFunc(setDevice, func(name string) bool {
			binds, known := e.sym.IsLinkedWith(m.Low.Offset, name)
			return binds || m.Main && !known
		})
	})
}

// moduleFiles returns the paths of the target's modules; nil if they are unknown. A module is listed even if its file
// is missing.
func moduleFiles(t callbacks.Target) (paths []string) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	modules, _ := lister.Modules()
	for _, m := range modules {
		paths = append(paths, m.Path)
	}
	return paths
}
