package locate

import "github.com/ompd-inspect/ompd-inspect/internal/runtime/rtl"

// Recognize reports whether a module that defines these symbols contains a runtime of LLVM's kind. It returns as
// much of its release as the symbols and the path reveal.
func Recognize(defines func(symbol string) bool, path string) (rtl.Kind, bool) {
	if !defines("__kmpc_fork_call") || !defines("__kmpc_global_thread_num") {
		return rtl.Kind{}, false
	}
	t, mod := rtl.SymbolsOnly(defines, path)
	id := identify(t, mod, &fingerprint{})
	return rtl.Kind{Family: id.Family, Name: id.Name, Version: id.Version}, true
}
