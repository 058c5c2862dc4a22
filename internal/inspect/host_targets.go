package inspect

import (
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
// then, as omp_get_initial_device returns it without devices.
func (p *factParts) checkRequest(t *picture.TargetConstruct) {
	policy, known := p.settings.Value("target-offload-var")
	asked := t.DefaultDevice || t.Device != nil && *t.Device > 0
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

// moduleFiles returns the files of the target's modules; nil if one of them may be missing in the list.
func moduleFiles(t callbacks.Target) (paths []string) {
	lister, ok := t.(callbacks.ModuleLister)
	if !ok {
		return nil
	}
	modules, err := lister.Modules()
	if err != nil {
		return nil
	}
	for _, m := range modules {
		paths = append(paths, m.Path)
	}
	return paths
}
