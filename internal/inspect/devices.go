package inspect

import (
	"github.com/ompd-inspect/ompd-inspect/callbacks"
	"github.com/ompd-inspect/ompd-inspect/internal/inspect/stacks"
	"github.com/ompd-inspect/ompd-inspect/internal/runtime/libomptarget"
	"github.com/ompd-inspect/ompd-inspect/picture"
)

// deviceLister lists the devices of a target. It reads them once.
type deviceLister struct {
	target callbacks.Target
	notes  *stacks.Notes
	data   *stacks.Data

	read      bool
	devices   []picture.Device
	libraries int
	err       error // the first reason why a library's devices are missing
}

// list returns the devices of all offloading libraries. It warns of a library whose devices could not be read.
func (l *deviceLister) list() []picture.Device {
	devices, _, err := l.find()
	if err != nil {
		l.notes.Warn("devices, and the data that is mapped to them, are not known: %s", stacks.Message(err))
	}
	return devices
}

// find returns the devices of all offloading libraries, and the number of these.
func (l *deviceLister) find() (devices []picture.Device, libraries int, err error) {
	if !l.read {
		l.read = true
		l.readLibraries()
	}
	return l.devices, l.libraries, l.err
}

// readLibraries reads the devices of all offloading libraries.
func (l *deviceLister) readLibraries() {
	lister, ok := l.target.(callbacks.ModuleLister)
	if !ok {
		return
	}
	modules, _ := lister.Modules() // modules that were found are listed despite an error
	for _, library := range libomptarget.Find(l.target, modules) {
		l.libraries++
		found, err := libomptarget.Read(l.target, library, modules)
		if err != nil && l.err == nil {
			l.err = err
		}
		for i := range found {
			l.devices = append(l.devices, l.describe(library, &found[i]))
		}
	}
}

// describe returns a device as a picture has it.
func (l *deviceLister) describe(library *callbacks.Module, d *libomptarget.Device) picture.Device {
	out := picture.Device{Number: d.Number, Library: library.Path, Plugin: d.Plugin}
	if d.Err != nil {
		out.Error = stacks.Message(d.Err)
	}
	for _, m := range d.Mapped {
		data := picture.MappedData{
			Host: picture.Hex(m.Host), Bytes: m.Size, Address: picture.Hex(m.Device), Name: m.Name, File: m.File,
			Line: m.Line,
		}
		if !m.Forever {
			data.References = &m.References
		}
		if data.Name == "" {
			data.Name = l.data.SymbolName(m.Host)
		}
		out.Mapped = append(out.Mapped, data)
	}
	return out
}

// countMapped returns the number of mapped ranges of devices.
func countMapped(devices []picture.Device) (n int) {
	for i := range devices {
		n += len(devices[i].Mapped)
	}
	return n
}
