package symbolize

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"path"
	"path/filepath"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// debugFile is an open debug file.
type debugFile struct {
	*elfx.File
	closer io.Closer
	path   string
}

// finder finds separate debug files.
type finder struct {
	dirs    []string // those under the sysroot are first
	sysroot string
	servers *servers
	open    elfx.OpenFile
	memory  *budget.Ledger
	noDebug bool
}

// newFinder returns a finder with the directories in search order.
func newFinder(o Options) *finder {
	f := &finder{
		sysroot: o.Sysroot, servers: newServers(o.Debuginfod, budget.LedgerOf(o.Memory)), open: o.Open,
		memory: budget.LedgerOf(o.Memory), noDebug: o.NoDebug,
	}
	dirs := o.DebugDirs
	if len(dirs) == 0 {
		dirs = []string{"/usr/lib/debug"}
	}
	if o.Sysroot != "" {
		for _, d := range dirs {
			f.dirs = append(f.dirs, filepath.Join(o.Sysroot, d))
		}
	}
	f.dirs = append(f.dirs, dirs...)
	return f
}

// errMismatch means that a file at the expected path belongs to another build.
var errMismatch = errors.New("belongs to another build")

// findLocal finds the debug file of a module on this machine; it may return nil.
func (f *finder) findLocal(m *module) *debugFile {
	id := m.buildID()
	if p := buildIDPath(id); p != "" {
		for _, d := range f.dirs {
			if df := f.tryFile(m, filepath.Join(d, p), id, 0); df != nil {
				return df
			}
		}
	}
	own := m.ownFile()
	if own == nil {
		return nil
	}
	// A link with directories would lead out of the searched directories.
	name, crc, ok := own.DebugLink()
	if !ok || name != path.Base(name) {
		return nil
	}
	for _, p := range f.linkPaths(m, name) {
		if df := f.tryFile(m, p, id, crc); df != nil {
			return df
		}
	}
	return nil
}

// linkPaths returns the possible paths of the file that a debug link names.
func (f *finder) linkPaths(m *module, name string) []string {
	// The file may be at another path here than in the target.
	here := filepath.Dir(m.mod.File)
	there := path.Dir(m.mod.Path)
	list := []string{filepath.Join(here, ".debug", name)}
	if p := filepath.Join(here, name); p != m.mod.File {
		list = append(list, p)
	}
	for _, d := range f.dirs {
		list = append(list, filepath.Join(d, there, name))
		if here != there {
			list = append(list, filepath.Join(d, here, name))
		}
	}
	return list
}

// findRemote requests the debug file of a module from the servers.
func (f *finder) findRemote(m *module) *debugFile {
	id := m.buildID()
	if len(id) == 0 || m.mod.Path == "[vdso]" {
		return nil
	}
	file, err := f.servers.fetch(id)
	if err != nil {
		m.warn("%s: debuginfod: %v", m.mod.Path, err)
	}
	return file
}

// findSupplementary finds the supplementary file, made by dwz, that the debug file at file names; it may return
// nil.
func (f *finder) findSupplementary(m *module, file, name string, id []byte) *debugFile {
	var list []string
	if filepath.IsAbs(name) {
		if f.sysroot != "" {
			list = append(list, filepath.Join(f.sysroot, name))
		}
		list = append(list, name)
	} else {
		list = append(list, filepath.Join(filepath.Dir(file), name))
	}
	for _, d := range f.dirs {
		list = append(list, filepath.Join(d, ".dwz", path.Base(name)))
		if p := buildIDPath(id); p != "" {
			list = append(list, filepath.Join(d, p))
		}
	}
	for _, p := range list {
		if df := f.tryFile(m, p, id, 0); df != nil {
			return df
		}
	}
	// Servers have these files by build ID like any other debug file.
	if df, _ := f.servers.fetch(id); df != nil {
		return df
	}
	m.warn("%s: its debug information refers to %s, which is not here: some names of inlined functions are missing; "+
		"install the debug package that has it", m.mod.Path, name)
	return nil
}

// tryFile opens a debug file and checks that it belongs to the module; it warns about an existing file
// that does not.
func (f *finder) tryFile(m *module, p string, id []byte, crc uint32) *debugFile {
	df, err := openDebug(f.open, f.memory, p, id, crc)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.warn("%s: debug file %s was left out: %v; install the debug package of the same build", m.mod.Path, p, err)
	}
	return df
}

// openDebug opens a debug file that must have the build ID or, if either side lacks one, the checksum.
func openDebug(open elfx.OpenFile, l *budget.Ledger, p string, id []byte, crc uint32) (*debugFile, error) {
	file, closer, err := open.Path(l, p)
	if err != nil {
		return nil, err
	}
	has := file.BuildID()
	switch {
	case len(id) > 0 && len(has) > 0:
		if !bytes.Equal(id, has) {
			err = fmt.Errorf("it %w (build ID %x, not %x)", errMismatch, has, id)
		}
	case crc == 0:
		err = fmt.Errorf("it %w (it has no build ID)", errMismatch)
	default:
		sum, readErr := fileChecksum(file)
		if err = readErr; err == nil && sum != crc {
			err = fmt.Errorf("it %w (checksum %08x, not %08x)", errMismatch, sum, crc)
		}
	}
	if err != nil {
		closer.Close()
		return nil, err
	}
	return &debugFile{file, closer, p}, nil
}

// fileChecksum returns the CRC-32 of a file, as in debug links.
func fileChecksum(f *elfx.File) (uint32, error) {
	img := f.Image()
	if b, ok := img.(interface{ Bytes() []byte }); ok {
		return crc32.ChecksumIEEE(b.Bytes()), nil
	}
	h := crc32.NewIEEE()
	_, err := io.Copy(h, io.NewSectionReader(img, 0, img.Size()))
	return h.Sum32(), err
}

// buildIDPath returns the path of a debug file below a directory for debug files; "" without a
// build ID.
func buildIDPath(id []byte) string {
	if len(id) < 2 {
		return ""
	}
	s := hex.EncodeToString(id)
	return filepath.Join(".build-id", s[:2], s[2:]+".debug")
}

// altLink returns the name and the build ID in .gnu_debugaltlink.
func altLink(f *elfx.File) (name string, id []byte, ok bool) {
	b, _, err := f.Section(".gnu_debugaltlink")
	n := bytes.IndexByte(b, 0)
	if err != nil || n <= 0 || n+1 == len(b) {
		return "", nil, false
	}
	return string(b[:n]), b[n+1:], true
}
