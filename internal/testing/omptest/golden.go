package omptest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Golden is a core of testdata/golden with its files unpacked.
type Golden struct {
	Core, Exe, Sysroot string
}

// UnpackGolden unpacks the files of golden core name below into; golden is the directory of all golden cores.
func UnpackGolden(golden, name, into string) (Golden, error) {
	g := Golden{filepath.Join(golden, name, "core.zst"), filepath.Join(into, "exe"), filepath.Join(into, "sysroot")}
	if err := Unpack(filepath.Join(golden, name, "exe.zst"), g.Exe); err != nil {
		return g, err
	}
	from := filepath.Join(golden, "sysroot")
	return g, filepath.WalkDir(from, func(path string, _ fs.DirEntry, err error) error {
		inner, packed := strings.CutSuffix(strings.TrimPrefix(path, from), ".zst")
		if err != nil || !packed {
			return err
		}
		return Unpack(path, filepath.Join(g.Sysroot, inner))
	})
}

// ExampleCore unpacks golden core name for an example, which has no testing.TB; done removes
// the files.
func ExampleCore(name string) (g Golden, done func(), err error) {
	root, err := moduleRoot()
	if err != nil {
		return g, nil, err
	}
	dir, err := os.MkdirTemp("", "golden")
	if err != nil {
		return g, nil, err
	}
	if g, err = UnpackGolden(filepath.Join(root, "testdata", "golden"), name, dir); err != nil {
		os.RemoveAll(dir)
		return g, nil, err
	}
	return g, func() { os.RemoveAll(dir) }, nil
}

// Unpack decompresses a file of testdata/golden.
func Unpack(from, to string) error {
	packed, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		return err
	}
	defer d.Close()
	data, err := d.DecodeAll(packed, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
