// Tests in Go on a broker of their own: go get github.com/twmb/franz-go; go test
package orders

import (
	"bufio"
	"context"
	"encoding/json"
	"log"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var bootstrap string

func TestMain(m *testing.M) {
	os.Exit(withBroker(m.Run))
}

// withBroker starts a broker that ends, and removes its data, when it is asked to, and with this process, however that ends.
func withBroker(run func() int) int {
	broker := exec.Command("shareq", "serve", "--ephemeral")
	broker.Stderr = os.Stderr
	output, err := broker.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := broker.Start(); err != nil {
		log.Fatal(err)
	}
	var ready struct{ Bootstrap string }
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &ready) != nil {
		log.Fatalf("shareq did not start: %s %v", line, err)
	}
	bootstrap = ready.Bootstrap
	defer broker.Wait()
	defer broker.Process.Signal(os.Interrupt)
	return run()
}

func TestAnOrderIsWrittenAndRead(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap),
		kgo.AllowAutoTopicCreation(),
		kgo.ConsumeTopics("orders"),
		kgo.ConsumerGroup("packers"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	order := &kgo.Record{Topic: "orders", Value: []byte("a vase")}
	if err := client.ProduceSync(ctx, order).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		for _, record := range fetched.Records() {
			if string(record.Value) != "a vase" {
				t.Fatalf("read %q", record.Value)
			}
			return
		}
	}
}
