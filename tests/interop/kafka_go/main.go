// kafka-go under test: one JSON command a line on standard input, one JSON answer a line on standard output.
//
// It has the commands `produce` and `fetch` of tests/interop/support/clients/commands.py, with topic, values and count.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"
)

// Login is how a client authenticates; nil for not at all.
type Login struct {
	Mechanism, Username, Password string
}

// TLS has paths of PEM files; a client without a certificate of its own leaves the last two out.
type TLS struct {
	CA, Certificate, Key string
}

// Command is what a line asks for.
type Command struct {
	Do        string
	Bootstrap string
	Login     *Login
	TLS       *TLS
	Topic     string
	Values    []string
	Count     int
}

// Answer is whatever the command answers.
type Answer map[string]any

var commands = map[string]func(context.Context, Command, *tls.Config, sasl.Mechanism) (Answer, error){
	"produce": produce,
	"fetch":   fetch,
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		answer, err := run(lines.Bytes())
		if err != nil {
			answer = Answer{"error": "kafka-go", "message": err.Error()}
		}
		if err := answers.Encode(answer); err != nil {
			os.Exit(1)
		}
	}
}

func run(line []byte) (Answer, error) {
	var command Command
	if err := json.Unmarshal(line, &command); err != nil {
		return nil, err
	}
	do, known := commands[command.Do]
	if !known {
		return nil, fmt.Errorf("unknown command %q", command.Do)
	}
	config, err := command.TLS.config()
	if err != nil {
		return nil, err
	}
	mechanism, err := command.Login.mechanism()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return do(ctx, command, config, mechanism)
}

func produce(ctx context.Context, command Command, config *tls.Config, login sasl.Mechanism) (Answer, error) {
	transport := &kafka.Transport{TLS: config, SASL: login}
	defer transport.CloseIdleConnections()
	writer := &kafka.Writer{
		Addr:         kafka.TCP(command.Bootstrap),
		Topic:        command.Topic,
		BatchTimeout: 10 * time.Millisecond,
		MaxAttempts:  3,
		Transport:    transport,
	}
	var messages []kafka.Message
	for _, value := range command.Values {
		messages = append(messages, kafka.Message{Value: []byte(value)})
	}
	if err := writer.WriteMessages(ctx, messages...); err != nil {
		return nil, err
	}
	return Answer{}, writer.Close()
}

func fetch(ctx context.Context, command Command, config *tls.Config, login sasl.Mechanism) (Answer, error) {
	dialer := &kafka.Dialer{TLS: config, SASLMechanism: login, Timeout: 10 * time.Second}
	connection, err := dialer.DialLeader(ctx, "tcp", command.Bootstrap, command.Topic, 0)
	if err != nil {
		return nil, err
	}
	connection.Close() // the reader below would try again and again, and never say what is wrong
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   []string{command.Bootstrap},
		Topic:     command.Topic,
		Partition: 0,
		Dialer:    dialer,
		MaxWait:   100 * time.Millisecond,
	})
	defer reader.Close()
	records := []Answer{}
	for len(records) < command.Count {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return nil, err
		}
		records = append(records, Answer{"offset": message.Offset, "value": string(message.Value)})
	}
	return Answer{"records": records}, nil
}

func (l *Login) mechanism() (sasl.Mechanism, error) {
	if l == nil {
		return nil, nil
	}
	switch l.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Mechanism(scram.SHA256, l.Username, l.Password)
	case "SCRAM-SHA-512":
		return scram.Mechanism(scram.SHA512, l.Username, l.Password)
	}
	return plain.Mechanism{Username: l.Username, Password: l.Password}, nil
}

func (t *TLS) config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	authority, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if t.Certificate != "" {
		own, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{own}
	}
	return config, nil
}
