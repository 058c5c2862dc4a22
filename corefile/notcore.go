package corefile

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/internal/image/elfx"
)

// fixNotCore explains how to get a core.
const fixNotCore = "a program that dies after `ulimit -c unlimited` leaves a core, and `gcore PID` takes one of a " +
	"program that runs"

// fixArch explains how to look at a core of another machine.
const fixArch = "build the program for one of these, for 32-bit x86 without -m32, or use gdb"

// fixTruncated explains how to get a complete core.
const fixTruncated = "make the core again with enough disk space and after `ulimit -c unlimited`; for " +
	"systemd-coredump raise ProcessSizeMax and ExternalSizeMax in coredump.conf"

// refuse returns the error for a file that elfx could not open.
func (c *Core) refuse(img fileImage, err error) error {
	switch {
	case errors.Is(err, elfx.ErrNotELF):
		b := make([]byte, min(img.Size(), describedBytes))
		n, _ := img.ReadAt(b, 0)
		return fmt.Errorf("%s: %w: %w: %s", c.path, ErrNotCore, describeBytes(string(b[:n])), fixNotCore)
	case errors.Is(err, elfx.ErrClass):
		return fmt.Errorf("%s: %w: %w: %s", c.path, ErrArch, err, fixArch)
	case errors.Is(err, elfx.ErrTruncated):
		return fmt.Errorf("%s: %w in its headers: %w: %s", c.path, ErrTruncated, err, fixTruncated)
	}
	return fmt.Errorf("%s: %w: %w", c.path, ErrNotCore, err)
}

// describeELF returns the kind of an ELF file that is not a core.
func describeELF(f *elfx.File) error {
	flags, _ := f.Dynamic(elf.DT_FLAGS_1)
	switch {
	case f.Type() == elf.ET_EXEC, f.Type() == elf.ET_DYN && (f.Interp() != "" || flags&uint64(elf.DF_1_PIE) != 0):
		return ErrExecutable
	case f.Type() == elf.ET_DYN:
		return errors.New("it is a shared library")
	case f.Type() == elf.ET_REL:
		return errors.New("it is an object file")
	}
	return fmt.Errorf("it is an ELF file of type %d", uint16(f.Type()))
}

// describedBytes is the number of leading bytes that show the kind of a file.
const describedBytes = 512

// describeBytes returns the kind of a file that is not ELF, by its first bytes.
func describeBytes(s string) error {
	if strings.HasPrefix(s, "#!") {
		return ErrScript
	}
	for _, k := range []struct{ magic, name string }{
		{"!<arch>\n", "an archive of object files"}, {"MDMP", "a Windows minidump"},
		{"\xcf\xfa\xed\xfe", "a Mach-O file"}, {"PK\x03\x04", "a zip archive"},
		{"BZh", "compressed with bzip2 (decompress it first)"},
		{"\x7fELF", "the first bytes of an ELF file"},
	} {
		if strings.HasPrefix(s, k.magic) {
			return errors.New("it is " + k.name)
		}
	}
	if isText(s) {
		return errors.New("it is a text file")
	}
	return errors.New("it is not an ELF file")
}

// isText reports whether s looks like the beginning of a UTF-8 text.
func isText(s string) bool {
	if cut := strings.LastIndexFunc(s, func(r rune) bool { return r != utf8.RuneError }); cut >= 0 &&
		len(s)-cut <= utf8.UTFMax+1 {
		s = s[:cut] // a character may be cut at the end
	}
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\f\x1b", r) })
}
