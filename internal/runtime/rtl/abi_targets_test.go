package rtl

import (
	"slices"
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

// TestOffloadFiles finds the offloading libraries and plugins among files.
func TestOffloadFiles(t *testing.T) {
	files := []string{"/a/libomp.so.5", "/a/libomptarget.so", "/b/libomptarget.so.19.1",
		"/a/libomptarget.rtl.cuda.so.16", "/c/libgomp-plugin-nvptx.so.1", "/c/libgomp.so.1"}
	libraries, plugins := OffloadFiles(files)
	if !slices.Equal(libraries, files[1:3]) || !slices.Equal(plugins, files[3:5]) {
		t.Errorf("libraries %q, plugins %q", libraries, plugins)
	}
}
