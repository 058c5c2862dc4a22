package rtl

import (
	"strings"
	"testing"
)

// TestMissingPlugin explains processes with and without plugins for devices.
func TestMissingPlugin(t *testing.T) {
	for _, c := range []struct{ call, files, want string }{
		{"__tgt_target_kernel", "a.out libomp.so.5 libomptarget.so.16", "LLVM's offloading library"},
		{"", "a.out /usr/lib/llvm-18/lib/libomptarget.so.18", "LLVM's offloading library"},
		{"", "a.out libomptarget.so.16 libomptarget.rtl.cuda.so.16", ""},
		{"", "a.out libomptarget.so.19.1", ""}, // it contains its plugins
		{"", "a.out libomptarget.so", ""},      // of an unknown release
		{"", "a.out libomp.so.5", ""},
		{"GOMP_target_ext", "a.out libgomp.so.1", "libgomp"},
		{"GOMP_target_ext", "a.out libgomp.so.1 libgomp-plugin-nvptx.so.1", ""},
		{"GOMP_target_ext", "", ""},
	} {
		got := MissingPlugin(c.call, strings.Fields(c.files))
		if c.want == "" && got != "" || c.want != "" && got != c.want+" found no device: no plugin is loaded" {
			t.Errorf("%q with %q: %q, want %q", c.call, c.files, got, c.want)
		}
	}
}
