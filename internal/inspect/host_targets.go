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
