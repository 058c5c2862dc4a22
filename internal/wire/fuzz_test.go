package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/ompd-inspect/ompd-inspect/picture"
	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// FuzzUnpack decodes bytes as a server's picture. The result must be an error, or a picture that survives
// encoding and decoding.
func FuzzUnpack(f *testing.F) {
	for _, zeros := range []bool{true, false} {
		m := new(ompdv1.Picture)
		if err := Pack(filled(zeros), m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := new(ompdv1.Picture)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		pic := new(picture.Picture)
		if Unpack(m, pic) != nil {
			return
		}
		again, second := new(ompdv1.Picture), new(picture.Picture)
		if err := Pack(pic, again); err != nil {
			t.Fatal(err)
		}
		if err := Unpack(again, second); err != nil || !reflect.DeepEqual(pic, second) {
			t.Fatalf("%v: %+v is not %+v", err, second, pic)
		}
	})
}
