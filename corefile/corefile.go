// Package corefile reads ELF cores written by the Linux kernel, by gdb's gcore, and by programs
// that follow the kernel's format. A *Core is a callbacks.Target with registers, modules and
// mappings.
//
// A core holds only part of a program's memory. The kernel leaves out memory that is unchanged
// since it was mapped from a file; that is read from the file, if its build ID matches the
// program's. Every other read of missing memory returns an error with the address, never zeros.
package corefile

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/files"
	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
	"github.com/ompd-inspect/ompd-inspect/internal/image/modules"
	"github.com/ompd-inspect/ompd-inspect/internal/target/pagecache"
)

// Errors that Open returns. Test with errors.Is.
var (
	// ErrNotCore means that the file is not a core; the message names its kind.
	ErrNotCore = errors.New("not a core")
	// ErrExecutable and ErrScript mean that the file is a program, not a core.
	ErrExecutable = errors.New("it is an executable")
	ErrScript     = errors.New("it is a script")
	// ErrArch means that the core has an unsupported word size, byte order or machine; the message
	// names it.
	ErrArch = errors.New("core of an unsupported architecture")
	// ErrTruncated means that the file ends too early. It is also the cause of faults at addresses past the
	// cut.
	ErrTruncated = errors.New("the core file is truncated")
	// ErrTooBig means that a core that is decompressed, or read from a stream, is larger than
	// Options.MaxUnpacked.
	ErrTooBig = errors.New("the core is too big")
)

// Options sets where files are searched and how much may be read. The zero value uses the paths in
// the core.
type Options struct {
	// Exe is the executable. It is used only if its build ID is the core's.
	Exe string
	// Sysroot is the directory that replaces "/" of the program's system.
	Sysroot string
	// DebugDirs are directories with .build-id trees, such as /usr/lib/debug.
	DebugDirs []string
	// Open opens the core, the executable and the files that the core names; nil opens every file
	// that this process may read.
	Open func(name string) (*os.File, error)
	// MaxUnpacked bounds the size of a core that is decompressed or read from a stream,
	// in bytes; 0 means DefaultMaxUnpacked.
	MaxUnpacked int64
	// Progress, if not nil, is called several times a second with the number
	// of bytes that were decompressed or read from a stream, once that takes over a second, and with
	// the part of a compressed file that was read, from 0 to 1 (0: unknown).
	Progress func(done int64, part float64)
	// Memory limits and counts the memory made from the core and the modules' files; nil does not
	// limit it.
	Memory callbacks.Ledger
	// Work is the CPU time that decompression may take for each started 64 MiB of the file; 0 does
	// not limit it.
	Work time.Duration
	// Canceled, if not nil, is called regularly while a core is decompressed or read from a stream;
	// its error stops that.
	Canceled func() error
}

// Info describes the end of the program, as far as the core records it.
type Info struct {
	PID         int    // 0 if the core does not say
	ProcessName string // at most 15 bytes, as the kernel keeps it
	Args        string // the command line's first 79 bytes
	Executable  string // path of the executable, as the program saw it
	Forked      bool   // it was a fork of another process, and had executed no program since

	Signal       int // that ended the program; 0 if it was alive
	SignalCode   int // si_code; meaningful only if HasCode
	HasCode      bool
	FaultAddress callbacks.Address // meaningful only if HasFault
	HasFault     bool              // the signal was for a memory access or instruction
	CrashedLWP   uint64            // thread that got the signal; 0 without a signal

	Producer  string   // "kernel", "gcore", "ompd-inspect" or "unknown"
	Recording bool     // the core holds only the memory that a recorder wrote,
	Moment    int64    // until this time, in ns of CLOCK_MONOTONIC; 0 if unknown
	Truncated bool     // bytes of memory are missing at the end of the file
	Warnings  []string // unusual properties of the core, with causes
}

// Core is an open core. It is safe for concurrent use.
type Core struct {
	file    *os.File
	path    string
	memory  *budget.Ledger
	arch    callbacks.Arch
	notes   *notes
	threads []thread
	byLWP   map[uint64]int
	regions []region
	cache   *pagecache.Cache
	mods    *modules.Table
	info    Info
}

var (
	_ callbacks.Target         = (*Core)(nil)
	_ callbacks.Lender         = (*Core)(nil)
	_ callbacks.RegisterReader = (*Core)(nil)
	_ callbacks.VectorReader   = (*Core)(nil)
	_ callbacks.ModuleLister   = (*Core)(nil)
	_ callbacks.MappingLister  = (*Core)(nil)
)

// Open opens a core, including one that is compressed with zstd, lz4, xz or gzip. It reads headers,
// notes and the loader's lists, and maps the modules' files; its cost does not depend on the size
// of the core. The error is ErrNotCore, ErrArch, ErrTruncated, ErrTooBig or that of the file.
func Open(path string, opts Options) (*Core, error) {
	if opts.Exe != "" {
		if err := checkExecutable(opts); err != nil {
			return nil, fmt.Errorf("executable: %w", err)
		}
	}
	file, err := openFile(path, opts)
	if err != nil {
		return nil, err
	}
	return openCore(file, path, opts)
}

// openCore opens the core in a file. It closes the file if that fails.
func openCore(file *os.File, path string, opts Options) (*Core, error) {
	c := &Core{file: file, path: path, memory: budget.LedgerOf(opts.Memory)}
	if err := c.read(opts); err != nil {
		file.Close()
		return nil, err
	}
	return c, nil
}

// checkExecutable returns an error if the executable does not exist.
func checkExecutable(opts Options) error {
	if opts.Open == nil {
		_, err := os.Stat(opts.Exe)
		return err
	}
	file, err := opts.Open(opts.Exe)
	if err != nil {
		return err
	}
	return file.Close()
}

// openFile opens a regular file, or a temporary file with the decompressed content if it is
// compressed.
func openFile(path string, opts Options) (*os.File, error) {
	open := opts.Open
	if open == nil {
		open = files.Open
	}
	file, err := open(path)
	if errors.Is(err, files.ErrNotRegular) {
		return nil, fmt.Errorf("%s: %w: it is not a regular file: %s", path, ErrNotCore, fixNotCore)
	}
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && st.Size() == 0 {
		err = fmt.Errorf("%s: %w: it is empty, as a full disk or a core limit of 0 leaves it: %s", path, ErrNotCore,
			fixNotCore)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	unpack := unpackerOf(firstBytes(file))
	if unpack == nil {
		return file, nil
	}
	defer file.Close()
	plain, err := unpackFile(file, unpack, opts)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", path, err)
	}
	return plain, nil
}

// read fills in the Core from its file.
func (c *Core) read(opts Options) error {
	st, err := c.file.Stat()
	if err != nil {
		return err
	}
	img := fileImage{c.file, st.Size()}
	f, err := elfx.OpenWithMemory(c.memory, img)
	if err != nil {
		return c.refuse(img, err)
	}
	if f.Type() != elf.ET_CORE {
		return fmt.Errorf("%s: %w: %w: %s", c.path, ErrNotCore, describeELF(f), fixNotCore)
	}
	c.arch = f.Arch()
	c.notes = readNotes(f, img, c.memory)
	if read, more := len(c.notes.threads), c.notes.unread; more > 0 {
		c.warn("%d threads, only the first %d are read, within the limit of memory: --max-memory raises it, 0 is any",
			read+more, read)
	}
	if err := c.readThreads(st.Size()); err != nil {
		return err
	}
	c.readRegions(f, st.Size())
	c.cache = pagecache.New(nil, &memory{core: c}) // while modules are searched
	c.mods = modules.Find(c.moduleFacts(), modules.Options{
		Exe: opts.Exe, Sysroot: opts.Sysroot, DebugDirs: opts.DebugDirs, Open: opts.Open, Memory: c.memory,
	})
	c.cache = pagecache.New(c.memory, &memory{core: c, mods: c.mods, wroteBack: hasWrittenMemory(c.regions)})
	c.separateThreads()
	c.setFileRights()
	c.fillInfo()
	return nil
}

// moduleFacts returns the facts from which modules are found.
func (c *Core) moduleFacts() modules.Facts {
	f := modules.Facts{Memory: c.cache, Arch: c.arch, Auxv: c.notes.auxv, Files: c.notes.files}
	if c.notes.process != nil {
		f.Command = c.notes.process.args
	}
	if r := c.regionAt(c.notes.auxv[auxvVDSO]); r != nil {
		f.VDSOEnd = r.high
	}
	return f
}

// Close closes the core and unmaps the files of its modules. Their images must
// not be used after it.
func (c *Core) Close() error { return errors.Join(c.mods.Close(), c.file.Close()) }

// Info returns what the core records about the end of the program.
func (c *Core) Info() Info {
	info := c.info
	info.Warnings = slices.Clone(info.Warnings)
	return info
}

// Arch returns the architecture of the program.
func (c *Core) Arch() callbacks.Arch { return c.arch }

// Modules returns the modules in the loader's lists and other mapped modules; the executable is
// first.
func (c *Core) Modules() ([]*callbacks.Module, error) { return c.mods.Modules() }

// Symbol finds a global symbol in the files of the modules.
func (c *Core) Symbol(name, file string) (callbacks.Address, error) {
	return c.mods.Symbol(name, file)
}

// ThreadSymbol finds a thread's own instance of a thread-local symbol. It accepts both kinds of
// thread identifier.
func (c *Core) ThreadSymbol(t callbacks.ThreadID, name, file string) (callbacks.Address, error) {
	var tp uint64
	switch t.Kind {
	case callbacks.ThreadIDLWP:
		i, ok := c.byLWP[t.Value]
		if !ok {
			return callbacks.Address{}, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
		}
		tp = c.threads[i].regs.ThreadPointer
	case callbacks.ThreadIDPthread:
		var err error
		if tp, err = c.mods.ThreadPointer(t.Value); err != nil {
			return callbacks.Address{}, err
		}
		if !slices.ContainsFunc(c.threads, func(t thread) bool { return t.regs.ThreadPointer == tp }) {
			return callbacks.Address{}, fmt.Errorf("%v: %w", t, callbacks.ErrNoThread)
		}
	default:
		return callbacks.Address{}, fmt.Errorf("%v: %w", t, callbacks.ErrUnsupportedKind)
	}
	return c.mods.ThreadSymbol(tp, name, file)
}

// fileImage is the core's file as an image.
type fileImage struct {
	*os.File
	size int64
}

// Size returns the length of the file when it was opened.
func (f fileImage) Size() int64 { return f.size }

// IsOwn reports whether f is a core that Write made. It does not change f's position.
func IsOwn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	img := fileImage{f, info.Size()}
	file, err := elfx.Open(img)
	return err == nil && file.Type() == elf.ET_CORE && readNotes(file, img, nil).own
}
