package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// TestSameWords compares the messages with the structs: the same keys, of the same kind.
func TestSameWords(t *testing.T) {
	if len(plans()) < 15 {
		t.Fatalf("only %d structs in a picture", len(plans()))
	}
	for of, p := range plans() {
		if p.err != nil {
			t.Error(p.err)
		}
		for _, f := range p.fields {
			got := of.FieldByIndex(f.index).Type
			want := kinds[f.desc.Kind()]
			list := got.Kind() == reflect.Slice
			if list {
				got = got.Elem()
			}
			optional := got.Kind() == reflect.Pointer
			if optional {
				got = got.Elem()
			}
			if list != f.desc.IsList() || optional && !f.desc.HasPresence() || !alike(got.Kind(), want) {
				of := of.FieldByIndex(f.index)
				t.Errorf("%s is %v, %s is %v", of.Name, of.Type, f.desc.FullName(), f.desc.Kind())
			}
		}
	}
}

var kinds = map[protoreflect.Kind]reflect.Kind{
	protoreflect.StringKind: reflect.String, protoreflect.Int64Kind: reflect.Int,
	protoreflect.Uint64Kind: reflect.Uint64, protoreflect.BoolKind: reflect.Bool,
	protoreflect.DoubleKind: reflect.Float64, protoreflect.MessageKind: reflect.Struct,
	protoreflect.EnumKind: reflect.String,
}

func alike(a, b reflect.Kind) bool {
	return a == b || a == reflect.Int64 && b == reflect.Int
}

// filled is a picture with every field set. With zeros, every third optional value is a zero, which differs
// from an absent value.
func filled(zeros bool) *picture.Picture {
	pic, n := new(picture.Picture), 0
	fill(reflect.ValueOf(pic).Elem(), &n, zeros)
	return pic
}

// lists reports whether a type has lists that are never absent.
func lists(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Type.Kind() == reflect.Slice && !strings.Contains(f.Tag.Get("json"), "omitempty") {
			return true
		}
	}
	return false
}

func fill(v reflect.Value, n *int, zeros bool) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n, zeros)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if !zeros || *n%3 != 0 || lists(v.Type().Elem()) {
			fill(v.Elem(), n, zeros)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, zeros)
		fill(v.Index(1), n, zeros)
	case reflect.Float64:
		v.SetFloat(float64(*n))
	case reflect.String:
		v.SetString(strings.Repeat("x", *n%9+1))
		if e := enumsByType()[v.Type()]; e != nil {
			v.SetString(wordOf(e, protoreflect.EnumNumber(*n%(e.Values().Len()-1)+1)))
		}
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(int64(*n))
		} else {
			v.SetUint(uint64(*n) << 40)
		}
	}
}

// enumsByType maps each type of words to its enum.
var enumsByType = sync.OnceValue(func() map[reflect.Type]protoreflect.EnumDescriptor {
	all := map[reflect.Type]protoreflect.EnumDescriptor{}
	for t, p := range plans() {
		for _, f := range p.fields {
			if f.desc.Enum() != nil {
				all[t.FieldByIndex(f.index).Type] = f.desc.Enum()
			}
		}
	}
	return all
})

// TestWords converts words to the values of enums and back.
func TestWords(t *testing.T) {
	if len(enumsByType()) < 15 {
		t.Errorf("only %d types of words", len(enumsByType()))
	}
	roles := ompdv1.Role(0).Descriptor()
	for word, want := range map[string]ompdv1.Role{
		"": 0, "worker": ompdv1.Role_ROLE_WORKER, "1000": 1000, // of a newer version
	} {
		n := numberOf(roles, word)
		if back := wordOf(roles, n); ompdv1.Role(n) != want || back != word {
			t.Errorf("%q is %v, and that %q", word, n, back)
		}
	}
	if n := numberOf(roles, "no such"); n != 0 {
		t.Errorf("%v", n)
	}
}

// roundTrip encodes and decodes a picture.
func roundTrip(t *testing.T, pic *picture.Picture) *picture.Picture {
	t.Helper()
	m := new(ompdv1.Picture)
	if err := Pack(pic, m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	m, back := new(ompdv1.Picture), new(picture.Picture)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	if err := Unpack(m, back); err != nil {
		t.Fatal(err)
	}
	return back
}

func TestRoundTrip(t *testing.T) {
	full := filled(true)
	if back := roundTrip(t, full); !reflect.DeepEqual(back, full) {
		t.Errorf("%+v\nis not\n%+v", back, full)
	}
	odd := &picture.Picture{Warnings: []string{"a\xff\xfeb"}, Regions: []picture.Region{{Threads: []int{}}}}
	back := roundTrip(t, odd)
	if back.Warnings[0] != "a\ufffd\ufffdb" || back.Regions[0].Threads == nil || back.Regions[0].Errors != nil {
		t.Errorf("%+q, %#v", back.Warnings, back.Regions[0])
	}
}

// TestJSON compares the JSON form of the messages with that of the structs: the same keys in the same places.
func TestJSON(t *testing.T) {
	pic, m := filled(false), new(ompdv1.Picture)
	if err := Pack(pic, m); err != nil {
		t.Fatal(err)
	}
	ours, _ := json.Marshal(pic)
	theirs, err := protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(ours), `"in":`) { // the last key of the deepest object
		t.Fatalf("not filled: %s", ours)
	}
	if a, b := keys(t, ours), keys(t, theirs); !reflect.DeepEqual(a, b) {
		t.Errorf("%v\nis not\n%v", a, b)
	}
}

// keys replaces every value that is not an object or a list.
func keys(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return bare(v)
}

func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			if v[k] = bare(v[k]); v[k] == nil {
				delete(v, k)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		return v
	case nil:
		return nil
	}
	return "value"
}
