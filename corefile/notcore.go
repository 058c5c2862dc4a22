package corefile

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/elfx"
)

// fixNotCore is how to come by a core.
const fixNotCore = "a program that dies after `ulimit -c unlimited` leaves a core, and `gcore PID` takes one of a " +
	"program that runs"

// cureTruncated is how to come by a whole one.
const cureTruncated = "make the core anew with enough disk space and after `ulimit -c unlimited`; for " +
	"systemd-coredump raise ProcessSizeMax and ExternalSizeMax in coredump.conf"

// refuse makes the error of a file that elfx could not open.
func (c *Core) refuse(img fileImage, err error) error {
	switch {
	case errors.Is(err, elfx.ErrNotELF):
		return fmt.Errorf("%s: %w: %s: %s", c.path, ErrNotCore, describeBytes(img), fixNotCore)
	case errors.Is(err, elfx.ErrClass):
		return fmt.Errorf("%s: %w: %w", c.path, ErrArch, err)
	case errors.Is(err, elfx.ErrTruncated):
		return fmt.Errorf("%s: %w in its headers: %w: %s", c.path, ErrTruncated, err, cureTruncated)
	}
	return fmt.Errorf("%s: %w: %w", c.path, ErrNotCore, err)
}

// describeELF tells what an ELF file is that is not a core.
func describeELF(f *elfx.File) string {
	switch {
	case f.Type() == elf.ET_EXEC, f.Type() == elf.ET_DYN && f.Interp() != "":
		return "it is an executable: " + fixNotCore
	case f.Type() == elf.ET_DYN:
		return "it is a shared library: " + fixNotCore
	case f.Type() == elf.ET_REL:
		return "it is an object file: " + fixNotCore
	}
	return fmt.Sprintf("it is an ELF file of type %d: %s", uint16(f.Type()), fixNotCore)
}

// describeBytes tells what a file is that is not ELF, by its first bytes.
func describeBytes(img callbacks.Image) string {
	b := make([]byte, min(img.Size(), 512))
	n, _ := img.ReadAt(b, 0)
	s := string(b[:n])
	for _, k := range []struct{ magic, name string }{
		{"#!", "a script"}, {"!<arch>\n", "an archive of object files"}, {"MDMP", "a Windows minidump"},
		{"\xcf\xfa\xed\xfe", "a Mach-O file"}, {"PK\x03\x04", "a zip archive"},
		{"BZh", "compressed with bzip2 (decompress it first)"},
		{"\x7fELF", "the first bytes of an ELF file"},
	} {
		if strings.HasPrefix(s, k.magic) {
			return "it is " + k.name
		}
	}
	if isText(s) {
		return "it is a text file"
	}
	return "it is not an ELF file"
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
