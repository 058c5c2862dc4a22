package text

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/ompd-inspect/ompd-inspect/internal/phrase"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// maxMapped is the number of mapped ranges of one device that Devices prints, unless all are wanted.
const maxMapped = 20

// Devices prints the devices, and the data that is mapped to each.
func Devices(p *Printer, pic *picture.Picture) {
	printDevices(p, pic)
	for i := range pic.Devices {
		d := &pic.Devices[i]
		if len(d.Mapped) == 0 {
			continue
		}
		p.printHeading("MAPPED DATA", fmt.Sprintf("of device %d: %s", d.Number, phrase.Count(len(d.Mapped), "range")))
		t := &table{head: []string{"NAME", "HOST", "BYTES", "DEVICE", "REFERENCES", "DECLARED AT"}}
		shown := d.Mapped
		if !p.all {
			shown = shown[:min(len(shown), maxMapped)]
		}
		for _, m := range shown {
			t.add(cmp.Or(m.Name, "-"), m.Host.String(), strconv.FormatUint(m.Bytes, 10), m.Address.String(),
				references(m), declaredAt(m))
		}
		p.printTable(t)
		if left := len(d.Mapped) - len(shown); left > 0 {
			p.printLine("  " + p.dim(fmt.Sprintf("and %d more: --all lists them", left)))
		}
	}
}

// printDevices prints a table of the devices.
func printDevices(p *Printer, pic *picture.Picture) {
	p.printHeading("DEVICES", phrase.Count(len(pic.Devices), "device"))
	if len(pic.Devices) == 0 {
		return
	}
	t := &table{head: []string{"NUMBER", "PLUGIN", "MAPPED DATA", "LIBRARY"}}
	for i := range pic.Devices {
		d := &pic.Devices[i]
		bytes := uint64(0)
		for _, m := range d.Mapped {
			bytes += m.Bytes
		}
		mapped := "none"
		if len(d.Mapped) > 0 {
			mapped = fmt.Sprintf("%s, %d bytes", phrase.Count(len(d.Mapped), "range"), bytes)
		}
		if d.Error != "" {
			mapped = p.amber("! ") + d.Error
		}
		t.add(strconv.Itoa(d.Number), cmp.Or(d.Plugin, "-"), mapped, filepath.Base(d.Library))
	}
	p.printTable(t)
}

// references returns the reference count of mapped data.
func references(m picture.MappedData) string {
	if m.References == nil {
		return "always"
	}
	return strconv.FormatUint(*m.References, 10)
}

// declaredAt returns the place of the declaration of mapped data: clang passes it, and not that of the clause.
func declaredAt(m picture.MappedData) string {
	if m.File == "" {
		return "-"
	}
	return fmt.Sprintf("%s:%d", filepath.Base(m.File), m.Line)
}
