package job

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A Part crosses machines as a line, so that it survives launchers that label lines, join
// them with others, or write of their own in between:
//
//	ompd-inspect-part-2 CHECKSUM LENGTH PAYLOAD
//
// The payload is JSON, compressed by zstd, in base64.
const lineMark = "ompd-inspect-part-2 "

// Limits of received parts.
const (
	// MaxLine bounds a line, in bytes: 64 ranks without a common state have 50 KB.
	MaxLine = 8 << 20
	// maxPayload bounds the decompressed content of a line, in bytes.
	maxPayload = 64 << 20
	// maxDecoded bounds the memory of a decoded line, in bytes. A line of a million ranks takes a fifth of it.
	maxDecoded = 512 << 20
	// maxText bounds each text of a line, in bytes.
	maxText = 4 << 10
	// maxWhere bounds the places of a stack.
	maxWhere = 256
)

// message is a Part as JSON.
type message struct {
	Size  int               `json:"size,omitempty"`
	Kinds []kindMessage     `json:"kinds,omitempty"`
	Hosts []hostMessage     `json:"hosts,omitempty"`
	Names map[Site]Name     `json:"names,omitempty"`
	Files map[string]File   `json:"files,omitempty"`
	Told  map[int][]string  `json:"told,omitempty"`
	Heard []string          `json:"heard,omitempty"`
	Lost  map[string]string `json:"lost,omitempty"`

	Pictures map[int]json.RawMessage `json:"pictures,omitempty"`
}

// kindMessage is a kind and its ranks. The kinds of different nodes are mostly equal, and each is parsed once
// (Decoder).
type kindMessage struct {
	Kind  json.RawMessage `json:"kind"`
	Ranks Set             `json:"ranks"`
}

// hostMessage contains the ranks of one host, and their own data in the same order.
type hostMessage struct {
	Host  string   `json:"host"`
	Ranks Set      `json:"ranks"`
	PIDs  numbers  `json:"pids"`
	Peers numbers  `json:"peers,omitempty"`
	Tags  tags     `json:"tags,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// encoder and decoder are created on first use.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20),
			zstd.WithEncoderCRC(false))
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPayload))
		return d
	})
)

// Encode returns p as a line, with the newline.
func (p *Part) Encode() ([]byte, error) {
	m := message{Size: p.size, Names: p.names, Files: p.files, Told: p.told, Lost: p.lost,
		Heard: slices.Sorted(maps.Keys(p.heard)), Pictures: p.pictures}
	for _, g := range p.groups() {
		m.Kinds = append(m.Kinds, kindMessage{[]byte(g.key[1:]), g.Set})
	}
	m.Hosts = p.hostMessages()
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	packed := encoder().EncodeAll(text, nil)
	payload := base64.StdEncoding.AppendEncode(nil, packed)
	if len(payload)+64 > MaxLine || len(text) > maxPayload {
		return nil, fmt.Errorf("a part of %d ranks has %d bytes, more than %d: use fewer ranks per node", p.ranks.Len(),
			len(payload), MaxLine)
	}
	line := fmt.Appendf(nil, "%s%08x %d ", lineMark, crc32.ChecksumIEEE(payload), len(payload))
	return append(append(line, payload...), '\n'), nil
}

// hostMessages returns the members of p by host.
func (p *Part) hostMessages() []hostMessage {
	hosts := map[string]*hostMessage{}
	for rank, m := range p.members.all() {
		h := hosts[m.Host]
		if h == nil {
			h = &hostMessage{Host: m.Host}
			hosts[m.Host] = h
		}
		h.Ranks.Add(rank)
		h.PIDs = append(h.PIDs, m.PID)
		h.Peers, h.Tags, h.Paths = append(h.Peers, m.Peer), append(h.Tags, m.Tag), append(h.Paths, m.Path)
	}
	var out []hostMessage
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		h := *hosts[name]
		if !slices.ContainsFunc(h.Peers, func(n int) bool { return n != -1 }) {
			h.Peers = nil
		}
		if !slices.ContainsFunc(h.Tags, func(n *int) bool { return n != nil }) {
			h.Tags = nil
		}
		if !slices.ContainsFunc(h.Paths, func(s string) bool { return s != "" }) {
			h.Paths = nil
		}
		out = append(out, h)
	}
	return out
}
