package jobs

import (
	"cmp"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/internal/jobs/job"
	"github.com/ompd-inspect/ompd-inspect/internal/stack/symbolize"
)

// Limits of resolving places on one machine: a job has a few files, and a page a few hundred places.
const (
	maxFiles = 256
	maxSites = 1 << 14
)

// Resolve adds functions and lines to the places of a job, from the files of this machine with the same path
// and build ID, and separate debug files. So no node reads debug information. Places in missing files keep the
// names from the nodes.
func Resolve(p *job.Part, o engine.Options) {
	unnamed := p.Unnamed()
	files := slices.SortedFunc(maps.Keys(unnamed), func(a, b job.File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.ID, b.ID))
	})
	names, left := map[job.Site]job.Name{}, maxSites
	for _, f := range files[:min(len(files), maxFiles)] {
		sites := unnamed[f]
		slices.Sort(sites)
		sites = sites[:min(len(sites), left)]
		left -= len(sites)
		resolve(f, sites, o, func(s job.Site, fs []symbolize.Frame) {
			names[s] = nameOf(fs, p.Called(s))
		})
	}
	p.Rename(names)
}

// resolve looks up sites of one file, and passes those with a line to found.
func resolve(f job.File, sites []job.Site, o engine.Options, found func(job.Site, []symbolize.Frame)) {
	id, err := hex.DecodeString(f.ID)
	if err != nil || len(sites) == 0 {
		return
	}
	opts := symbolize.Options{DebugDirs: o.DebugDirs, Sysroot: o.Sysroot, Open: o.Open}
	opts.Debuginfod.URLs = o.Debuginfod
	file, err := symbolize.OpenFile(filepath.Join(o.Sysroot, f.Path), id, opts)
	if err != nil {
		return
	}
	defer file.Close()
	for _, s := range sites {
		at, ok := s.Offset()
		if !ok {
			continue
		}
		if fs, _ := file.Code(at); len(fs) > 0 && fs[0].Line != 0 {
			found(s, fs)
		}
	}
}

// nameOf returns the name of the code of some frames, innermost first. known is the name from a node, which
// knows constructs but not inlined functions. The functions of a construct are one to it.
func nameOf(fs []symbolize.Frame, known job.Name) job.Name {
	n := job.Name{Function: fs[0].Function, File: filepath.Base(fs[0].File), Line: fs[0].Line}
	kind, _ := symbolize.Construct(fs[0].Linkage)
	in := fs[0].Around
	same := kind != "" && (in == "" || strings.HasPrefix(known.Function, in+" ["))
	switch {
	case known.Function != "" && (len(fs) == 1 || same):
		n.Function = known.Function
	case kind != "" && in != "":
		n.Function = in + " [" + kind + "]"
	}
	return n
}
