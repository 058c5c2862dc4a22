package omptest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
)

// writeInitrd writes the files of a tree into an archive that Linux unpacks into its first file system: cpio's format
// "newc". All belong to root.
func writeInitrd(name string, tree fs.FS) error {
	var out bytes.Buffer
	number := 0
	add := func(name string, mode int, data []byte) {
		number++
		links := 1
		out.WriteString("070701")
		for _, field := range []int{number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0} {
			fmt.Fprintf(&out, "%08x", field)
		}
		out.WriteString(name + "\x00")
		out.Write(make([]byte, -out.Len()&3)) // the data starts at a multiple of four bytes
		out.Write(data)
		out.Write(make([]byte, -out.Len()&3))
	}
	const directory, file, link = 0o040755, 0o100755, 0o120777
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if e.IsDir() {
			add(name, directory, nil)
			return nil
		}
		if e.Type() == fs.ModeSymlink {
			target, err := fs.ReadLink(tree, name)
			add(name, link, []byte(target))
			return err
		}
		data, err := fs.ReadFile(tree, name)
		add(name, file, data)
		return err
	})
	if err != nil {
		return err
	}
	add("TRAILER!!!", 0, nil)
	return os.WriteFile(name, out.Bytes(), 0o644)
}
