package diagnose

import "github.com/ompd-inspect/ompd-inspect/inspect"

// Picture is in's picture of the wanted parts with the verdicts. Parts that only
// Run needs are left out again.
func Picture(in *inspect.Inspector, want inspect.Parts) *inspect.Picture {
	need, all := Parts(), want
	all.Threads, all.Regions, all.Tasks = want.Threads || need.Threads, want.Regions || need.Regions, want.Tasks || need.Tasks
	pic := in.Picture(all)
	pic.Verdicts = Run(in, pic)
	if !want.Threads {
		pic.Threads = nil
	}
	if !want.Regions {
		pic.Regions = nil
	}
	if !want.Tasks {
		pic.Tasks = nil
	}
	return pic
}
