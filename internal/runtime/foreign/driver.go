package foreign

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/handles"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"
)

// Driver returns the driver of runtimes that no other driver reads. It must be the last.
func Driver() rtl.Driver {
	return rtl.Driver{
		Family: family, Reads: "omp_get_* of others", Recognize: recognize,
		Open: func(t callbacks.Target, first handles.Stamp, o rtl.Options) ([]rtl.Runtime, error) {
			taken := o.Taken
			if taken == nil {
				taken = func(*callbacks.Module) bool { return false }
			}
			return openRuntimes(t, first, taken)
		},
	}
}
