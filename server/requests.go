package server

import (
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/internal/engine"
	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// isChecked reports whether the requests of a call are checked. OMPD's routines have return codes for wrong values, and
// a debugger's answers may have values of a later version.
func isChecked(method string) bool {
	return strings.HasPrefix(method, "/ompd.v1.InspectionService/") ||
		strings.HasPrefix(method, "/ompd.v1.TraceService/")
}

// checkRequest returns an error for a request with a number that is no value of its enum, or with a negative page size:
// an answer to it would look as if nothing had been found.
func checkRequest(request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	return checkMessage(m.ProtoReflect())
}

// checkMessage checks a message and the messages in it.
func checkMessage(m protoreflect.Message) (err error) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				if err = checkValue(f, v.List().Get(i)); err != nil {
					break
				}
			}
		default:
			err = checkValue(f, v)
		}
		return err == nil
	})
	return err
}

// checkValue checks a value of a field.
func checkValue(f protoreflect.FieldDescriptor, v protoreflect.Value) error {
	switch {
	case f.Kind() == protoreflect.EnumKind && f.Enum().Values().ByNumber(v.Enum()) == nil:
		return failure(codes.InvalidArgument, "UNKNOWN_VALUE", "%s has no value %d", f.Name(), v.Enum())
	case f.Kind() == protoreflect.MessageKind:
		return checkMessage(v.Message())
	case f.Name() == "page_size" && v.Int() < 0:
		return failure(codes.InvalidArgument, "NEGATIVE", "page_size is not negative")
	}
	return nil
}

// checkSources returns an error for an unknown source of layouts in TargetSpec.sources.
func checkSources(names []string) error {
	for _, name := range names {
		if !slices.Contains(engine.LayoutSources, name) {
			return failure(codes.InvalidArgument, "UNKNOWN_SOURCE", "sources has no %q: the sources are %v", name,
				engine.LayoutSources)
		}
	}
	return nil
}

// checkIcvFilter returns an error for a filter with a name that no variable of the target has, or with an unknown
// scope.
func checkIcvFilter(f *ompdv1.IcvFilter, all []*ompdv1.Icv) error {
	for _, scope := range f.GetScopes() {
		if !slices.Contains(picture.ICVScopes(), scope) {
			return failure(codes.InvalidArgument, "UNKNOWN_VALUE", "scopes has no %q: the scopes are %v", scope,
				picture.ICVScopes())
		}
	}
	for _, name := range f.GetNames() {
		if !slices.ContainsFunc(all, func(i *ompdv1.Icv) bool { return i.GetName() == name }) {
			return failure(codes.InvalidArgument, "UNKNOWN_VALUE", "no control variable of the target is %q: without "+
				"a filter, the call lists their names", name)
		}
	}
	return nil
}
