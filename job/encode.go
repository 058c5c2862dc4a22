package job

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A Part crosses machines as a line, so that it survives launchers that label lines, join
// them with others, or write of their own in between:
//
//	ompd-inspect-part-1 CHECKSUM LENGTH PAYLOAD
//
// The payload is JSON, compressed by zstd, in base64.
const lineMark = "ompd-inspect-part-1 "

// Bounds of what another machine sends.
const (
	// MaxLine bounds a line, in bytes: 64 ranks that have nothing in common are 50 KB.
	MaxLine = 8 << 20
	// maxPayload bounds what a line is decompressed to, in bytes.
	maxPayload = 64 << 20
	// maxText bounds each text of a line, in bytes.
	maxText = 4 << 10
	// maxWhere bounds the places of a stack.
	maxWhere = 256
)

// ErrNoPart says that a line is none of ours.
var ErrNoPart = errors.New("not a part of a job")

// message is a Part as JSON.
type message struct {
	Size  int               `json:"size,omitempty"`
	Kinds []kindMessage     `json:"kinds"`
	Hosts []hostMessage     `json:"hosts"`
	Names map[Site]Name     `json:"names,omitempty"`
	Lost  map[string]string `json:"lost,omitempty"`
}

type kindMessage struct {
	Kind
	Ranks Set `json:"ranks"`
}

// hostMessage are the ranks of one host, with what each has for itself in their order.
type hostMessage struct {
	Host  string   `json:"host"`
	Ranks Set      `json:"ranks"`
	PIDs  []int    `json:"pids"`
	Peers []int    `json:"peers,omitempty"`
	Tags  []*int   `json:"tags,omitempty"`
	Paths []string `json:"paths,omitempty"`
}

// encoder and decoder are made when they are first used.
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

// Encode is p as a line, with its end.
func (p *Part) Encode() ([]byte, error) {
	m := message{Size: p.size, Names: p.names, Lost: p.lost}
	for _, g := range p.groups() {
		m.Kinds = append(m.Kinds, kindMessage{g.kind, g.Set})
	}
	m.Hosts = p.hostMessages()
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	packed := encoder().EncodeAll(text, nil)
	payload := base64.StdEncoding.AppendEncode(nil, packed)
	if len(payload)+64 > MaxLine || len(text) > maxPayload {
		return nil, fmt.Errorf("a part of %d ranks has %d bytes, more than %d: give each node fewer", p.ranks.Len(),
			len(payload), MaxLine)
	}
	line := fmt.Appendf(nil, "%s%08x %d ", lineMark, crc32.ChecksumIEEE(payload), len(payload))
	return append(append(line, payload...), '\n'), nil
}

// hostMessages are the members of p by host.
func (p *Part) hostMessages() []hostMessage {
	hosts := map[string]*hostMessage{}
	for _, rank := range slices.Sorted(maps.Keys(p.members)) {
		m := p.members[rank]
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

// Decode reads a line that Encode made, wherever in the line that begins. A line without one
// is ErrNoPart.
func Decode(line []byte) (*Part, error) {
	_, rest, ok := bytes.Cut(line, []byte(lineMark))
	if !ok {
		return nil, ErrNoPart
	}
	if len(rest) > MaxLine {
		return nil, fmt.Errorf("a part of a job has more than %d bytes", MaxLine)
	}
	fields := bytes.Fields(rest)
	if len(fields) < 3 {
		return nil, errors.New("a part of a job is cut off")
	}
	sum, err := strconv.ParseUint(string(fields[0]), 16, 32)
	size, err2 := strconv.Atoi(string(fields[1]))
	payload := fields[2]
	if err != nil || err2 != nil || size != len(payload) || uint32(sum) != crc32.ChecksumIEEE(payload) {
		return nil, errors.New("a part of a job is damaged: its checksum or its length is another")
	}
	packed, err := base64.StdEncoding.AppendDecode(nil, payload)
	if err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	text, err := decoder().DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	return unpack(text)
}

// unpack reads a message.
func unpack(text []byte) (*Part, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("a part of a job: %w", err)
	}
	return m.part()
}

// part checks a message, and makes a Part of it.
func (m *message) part() (*Part, error) {
	p := NewPart()
	p.size = min(max(m.Size, 0), MaxRanks)
	for i := range m.Hosts {
		if err := p.addHost(&m.Hosts[i]); err != nil {
			return nil, err
		}
	}
	kinds := 0
	for i := range m.Kinds {
		k := &m.Kinds[i]
		if err := k.check(); err != nil {
			return nil, err
		}
		slices.SortFunc(k.Threads, compareCounts)
		p.group(newGroup(k.Kind)).join(k.Ranks)
		kinds += k.Ranks.Len()
		p.ranks.join(k.Ranks)
	}
	if kinds != p.ranks.Len() || kinds != len(p.members) {
		return nil, errors.New("a part of a job has ranks in no kind, or in several")
	}
	for s, n := range m.Names {
		if len(s) > maxText || len(n.Function) > maxText || len(n.File) > maxText {
			return nil, fmt.Errorf("a part of a job has a name of more than %d bytes", maxText)
		}
	}
	p.join(m.Names)
	for host, why := range m.Lost {
		p.Lose(clip(host), clip(why))
	}
	return p, nil
}

func clip(s string) string { return s[:min(len(s), maxText)] }

// addHost adds the members of a host.
func (p *Part) addHost(h *hostMessage) error {
	n := h.Ranks.Len()
	if len(h.PIDs) != n || len(h.Host) > maxText || h.Peers != nil && len(h.Peers) != n ||
		h.Tags != nil && len(h.Tags) != n || h.Paths != nil && len(h.Paths) != n {
		return errors.New("a part of a job has a host whose lists are not as long as its ranks")
	}
	i := 0
	for rank := range h.Ranks.All {
		m := Member{Host: h.Host, PID: h.PIDs[i], Peer: -1}
		if h.Peers != nil {
			m.Peer = h.Peers[i]
		}
		if h.Tags != nil {
			m.Tag = h.Tags[i]
		}
		if h.Paths != nil {
			m.Path = clip(h.Paths[i])
		}
		if _, twice := p.members[rank]; twice {
			return fmt.Errorf("a part of a job has rank %d twice", rank)
		}
		p.members[rank] = m
		i++
	}
	return nil
}

// check bounds what a kind has.
func (k *kindMessage) check() error {
	texts := []string{string(k.Condition), string(k.Movement), k.Why}
	if c := k.Call; c != nil {
		texts = append(texts, c.Routine, c.Comm, c.Type, c.Op, c.Lost, string(c.Where))
	}
	if f := k.Finding; f != nil {
		texts = append(texts, string(f.Kind), f.Summary)
	}
	for _, t := range k.Threads {
		texts = append(texts, t.State)
		if len(t.Where) > maxWhere || t.Threads < 0 || t.Threads > MaxRanks {
			return errors.New("a part of a job has a stack or a number of threads beyond any bound")
		}
		for _, s := range t.Where {
			texts = append(texts, string(s))
		}
	}
	if slices.ContainsFunc(texts, func(s string) bool { return len(s) > maxText }) {
		return fmt.Errorf("a part of a job has a text of more than %d bytes", maxText)
	}
	return nil
}
