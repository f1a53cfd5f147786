package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

const notPaid = "not paid by this command; a further try needs a new key"

var meanings = map[string]string{
	"ACCEPTED": "accepted, not settled yet",
	"REFUSED":  notPaid,
	"INVALID":  notPaid,
	"EXPIRED":  notPaid,
	"FAILED":   notPaid,
	"UNKNOWN":  "may have been paid: do not pay under another key; an operator decides, and a later revision tells",
}

// journal is a file with a line for each event that was handled: id, revision, source, outcome, transaction, key.
// A key may name another command days after its result, and a new cluster counts offsets from 0 again: so key and source together
// identify a command.
type journal struct {
	file      *os.File
	handled   map[string]bool
	revisions map[command]int
}

type command struct{ key, source string }

func openJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	opened := &journal{file, map[string]bool{}, map[command]int{}}
	var whole int64
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			break // the end, or a line that was cut off by a crash: its event comes again
		}
		whole += int64(len(line))
		opened.remember(strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	if err := file.Truncate(whole); err != nil {
		return nil, err
	}
	_, err = file.Seek(whole, 0)
	return opened, err
}

func (j *journal) remember(fields []string) {
	var revision int
	fmt.Sscan(fields[1], &revision)
	j.handled[fields[0]] = true
	about := command{key: fields[5], source: fields[2]}
	if fields[3] != "CONFLICT" && revision > j.revisions[about] {
		j.revisions[about] = revision
	}
}

func (j *journal) handle(id string, result commandResult) error {
	if j.handled[id] {
		return nil
	}
	source := fmt.Sprintf("%s/%d/%d", result.Source.Topic, result.Source.Partition, result.Source.Offset)
	isConflict := result.Outcome == "CONFLICT"
	isNews := isConflict || result.Revision > j.revisions[command{result.CommandKey, source}] // the highest revision counts
	transactionID := ""
	if result.Transaction != nil {
		transactionID = result.Transaction.ID
	} else if result.Quote != nil && result.Quote.TransactionID != nil {
		transactionID = *result.Quote.TransactionID
	}
	fields := []string{id, fmt.Sprint(result.Revision), source, result.Outcome, transactionID, result.CommandKey}
	if _, err := j.file.WriteString(strings.Join(fields, "\t") + "\n"); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	j.remember(fields)
	if isNews {
		fmt.Printf("%s revision %d: %s, %s\n", result.CommandKey, result.Revision, result.Outcome, meaningOf(result.Outcome))
	}
	return nil
}

func meaningOf(outcome string) string {
	if outcome == "CONFLICT" {
		return "a message was ignored, the result of its key stands"
	}
	if meaning, known := meanings[outcome]; known {
		return meaning
	}
	return "an outcome of a later release: nothing can be concluded, update this program"
}
