package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// apiList returns the text of api.txt: a line for each element of the API, in their order. A missing line of
// the previous text is an error, as by `buf breaking` with FILE: an element was removed, moved to another file,
// renumbered, or has another type.
func apiList(files linker.Files, was string, breaking bool) ([]byte, error) {
	lines := elements(files)
	var gone []string
	for line := range strings.Lines(was) {
		if _, found := slices.BinarySearch(lines, strings.TrimSuffix(line, "\n")); !found {
			gone = append(gone, line)
		}
	}
	if len(gone) > 0 && !breaking {
		return nil, fmt.Errorf("the API breaks its clients (-breaking allows that); these elements are missing:\n%s",
			strings.Join(gone, ""))
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}

// elements returns one line for each element of the API.
func elements(files linker.Files) (out []string) {
	add := func(d protoreflect.Descriptor, format string, args ...any) {
		out = append(out, fmt.Sprintf("%s %s ", d.ParentFile().Path(), d.FullName())+fmt.Sprintf(format, args...))
	}
	enums := func(list protoreflect.EnumDescriptors) {
		for i := range list.Len() {
			add(list.Get(i), "enum")
			for j := range list.Get(i).Values().Len() {
				v := list.Get(i).Values().Get(j)
				add(v, "= %d", v.Number())
			}
		}
	}
	var messages func(list protoreflect.MessageDescriptors)
	messages = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			m := list.Get(i)
			if m.IsMapEntry() {
				continue
			}
			add(m, "message")
			for j := range m.Fields().Len() {
				d := m.Fields().Get(j)
				add(d, "= %d %s", d.Number(), kindOf(d))
			}
			messages(m.Messages())
			enums(m.Enums())
		}
	}
	for _, f := range files {
		messages(f.Messages())
		enums(f.Enums())
		for i := range f.Services().Len() {
			methods := f.Services().Get(i).Methods()
			for j := range methods.Len() {
				m := methods.Get(j)
				add(m, "%v(%s) %v(%s)", m.IsStreamingClient(), m.Input().FullName(), m.IsStreamingServer(),
					m.Output().FullName())
			}
		}
	}
	slices.Sort(out)
	return out
}

// kindOf returns the type of a field, with all properties of its encoding.
func kindOf(d protoreflect.FieldDescriptor) string {
	kind := d.Kind().String()
	switch {
	case d.IsMap():
		return fmt.Sprintf("map<%s, %s>", kindOf(d.MapKey()), kindOf(d.MapValue()))
	case d.Message() != nil:
		kind = string(d.Message().FullName())
	case d.Enum() != nil:
		kind = string(d.Enum().FullName())
	}
	switch o := d.ContainingOneof(); {
	case d.IsList():
		return "repeated " + kind
	case d.HasOptionalKeyword():
		return "optional " + kind
	case o != nil:
		return "oneof " + string(o.Name()) + " " + kind
	}
	return kind
}
