package delve

import (
	"bufio"
	"bytes"
	"net"
	"testing"
	"time"
)

// script is a connection to a peer that sends fixed bytes.
type script struct {
	net.Conn
	says *bytes.Reader
}

func (s script) Read(p []byte) (int, error)  { return s.says.Read(p) }
func (s script) Write(p []byte) (int, error) { return len(p), nil }
func (s script) Close() error                { return nil }
func (s script) SetDeadline(time.Time) error { return nil }

// FuzzReplies reads bytes as the answers of a Delve: the look must succeed or fail with an error.
func FuzzReplies(f *testing.F) {
	const hello = `{"id":1,"result":{"DelveVersion":"Version: 1.24.0","APIVersion":2},"error":null}
{"id":2,"result":{"IsMulticlient":true},"error":null}
`
	f.Add([]byte(hello))
	for _, s := range []string{
		`{"id":3,"result":{"State":{"Running":false,"Threads":[{"id":7},{"id":-1}]}},"error":null}`,
		`{"id":3,"result":{"Regs":[{"Name":"Rip","Value":"0xffff"}],"Mem":"AAAA","Recorded":true},"error":"no"}`,
	} {
		f.Add([]byte(hello + s + "\n"))
	}
	f.Add([]byte(`{"id":18446744073709551615,"result":[],"error":{}}` + "\n{}\nnull\n"))
	f.Fuzz(func(t *testing.T, says []byte) {
		c := script{says: bytes.NewReader(says)}
		p := &Process{conn: &conn{address: "script", timeout: time.Hour, c: c, r: bufio.NewReader(c)}}
		err := p.greet(t.Context())
		if err == nil {
			err = p.recording(t.Context())
		}
		now, err2 := p.state(t.Context())
		if err == nil && err2 == nil && now != nil {
			s := &sight{p: p}
			s.threads(t.Context())
			s.auxv(t.Context())
			s.examine(t.Context(), 0x1000, 64)
		}
		if p.Close() != nil {
			t.Fatal("it cannot be closed")
		}
	})
}
