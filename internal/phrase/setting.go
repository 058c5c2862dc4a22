package phrase

import "github.com/ompd-inspect/ompd-inspect/picture"

// Processors returns the number of processors for the threads of a program; 0 if it is unknown.
func Processors(pic *picture.Picture) (n int) {
	if pic.Facts == nil {
		return 0
	}
	for _, fork := range pic.Facts.Forks {
		if fork.NumProcs != nil {
			n = max(n, *fork.NumProcs)
		}
	}
	return n
}

// Environment returns the variables of OpenMP that are set in a program's environment: "OMP_NUM_THREADS=4".
func Environment(pic *picture.Picture) (out []string) {
	if pic.Facts == nil {
		return nil
	}
	for _, v := range pic.Facts.Environment {
		if v.State == picture.VariableSet {
			out = append(out, v.Name+"="+v.Value)
		}
	}
	return out
}
