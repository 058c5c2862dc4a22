package stacks

import (
	"sync"

	"github.com/ompd-inspect/ompd-inspect/internal/image/jitcode"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
)

// generated names the functions that the program made at run time.
type generated struct {
	objects func() []jitcode.Object
	perfMap func() []byte
}

// jitDescriptor is the list of objects with code that a program registers for debuggers.
const jitDescriptor = "__jit_debug_descriptor"

// newGenerated finds the registered objects of a target; perfMap reads its perf map.
func newGenerated(c *Code, perfMap func() []byte) *generated {
	return &generated{
		perfMap: sync.OnceValue(perfMap),
		objects: sync.OnceValue(func() []jitcode.Object {
			var out []jitcode.Object
			if c.Symbols == nil {
				return nil
			}
			for _, m := range modulesOf(c.Target) {
				if at, ok := c.Symbols.LookupExported(jitDescriptor, m.Path); ok {
					objects, _ := jitcode.Objects(c.Target, at) // those before a damaged one
					out = append(out, objects...)
				}
			}
			return out
		}),
	}
}

// name names the code at pc, which is in no module.
func (g *generated) name(pc uint64) []symbolize.Frame {
	f, ok := jitcode.InMap(g.perfMap(), pc)
	for _, o := range g.objects() {
		if ok {
			break
		}
		f, ok = o.Function(pc)
	}
	if !ok {
		return nil
	}
	return []symbolize.Frame{{
		Function: symbolize.Demangle(f.Name), Linkage: f.Name, Low: f.Low, Offset: pc - f.Low,
		Source: symbolize.SourceSymtab,
	}}
}
