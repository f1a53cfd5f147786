"""Handles each result once: python subscribe.py DATABASE. What was handled is in SQLite, in one transaction with its effect."""

import os
import signal
import sqlite3
import sys

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

NOT_PAID = 'not paid by this command; a further try needs a new key'
MEANING = {
    'ACCEPTED': 'accepted, not settled yet',
    'REFUSED': NOT_PAID,
    'INVALID': NOT_PAID,
    'EXPIRED': NOT_PAID,
    'FAILED': NOT_PAID,
    'UNKNOWN': 'may have been paid: do not pay under another key; an operator decides, and a later revision tells',
}
NOT_UNDERSTOOD = 'an outcome of a later release: nothing can be concluded, update this program'

topic = os.environ.get('TOPIC_PREFIX', 'payments') + '.results.v1'
schemas = os.path.join(os.path.dirname(__file__), '..', '..', 'schemas', 'bundle')
with open(os.path.join(schemas, 'CommandResult.avsc'), encoding='utf-8') as file:
    # By our own schema, so that fields of later releases do not disturb.
    deserialize = AvroDeserializer(SchemaRegistryClient({'url': os.environ['SCHEMA_REGISTRY_URL']}), file.read())

database = sqlite3.connect(sys.argv[1])
# A row for each command. A key may name another command days after its result, and a new cluster counts offsets from 0 again: so
# key and source together identify a command.
database.executescript('''
    CREATE TABLE IF NOT EXISTS handled (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS payments (key TEXT, source TEXT, revision INTEGER, outcome TEXT, transaction_id TEXT, PRIMARY KEY (key, source));
''')


def handle(event_id, result):
    """Returns what happened, or None where there was nothing to do."""
    key, revision, outcome = result['commandKey'], result['revision'], result['outcome']
    with database:  # one transaction: the effect and the memory of it
        if database.execute('INSERT OR IGNORE INTO handled VALUES (?)', (event_id,)).rowcount == 0:
            return None
        if outcome == 'CONFLICT':  # about one message; what is known of the key stands
            return f'{key} revision {revision}: CONFLICT, a message was ignored, the result of its key stands'
        transaction, quote, source = result['transaction'], result['quote'], result['source']
        transaction_id = transaction['id'] if transaction else quote and quote['transactionId']
        changed = database.execute(
            '''INSERT INTO payments VALUES (?, ?, ?, ?, ?) ON CONFLICT (key, source) DO UPDATE SET revision = excluded.revision,
               outcome = excluded.outcome, transaction_id = excluded.transaction_id WHERE excluded.revision > revision''',
            (key, f"{source['topic']}/{source['partition']}/{source['offset']}", revision, outcome, transaction_id),
        ).rowcount
        if changed == 0:  # the highest revision counts
            return None
    return f'{key} revision {revision}: {outcome}, {MEANING.get(outcome, NOT_UNDERSTOOD)}'


consumer = Consumer({
    'bootstrap.servers': os.environ['KAFKA_BROKERS'],
    'group.id': os.environ.get('GROUP_ID', 'billing'),
    'auto.offset.reset': 'earliest',
    'enable.auto.commit': False,
    # Else results are read that never came about.
    'isolation.level': 'read_committed',
})
consumer.subscribe([topic])
stopping = []
signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
signal.signal(signal.SIGINT, lambda *_: stopping.append(True))
while not stopping:
    message = consumer.poll(0.5)
    if message is None:
        continue
    if message.error():
        raise KafkaException(message.error())
    # What cannot be read ends the program, with nothing committed: better than passing over news of money.
    result = deserialize(message.value(), SerializationContext(topic, MessageField.VALUE))
    headers = dict(message.headers())
    # Two commands under one key have results with the same ce_id, but not at the same time.
    told = handle(f"{headers['ce_id'].decode()} {headers['ce_time'].decode()}", result)
    if told is not None:
        print(told, flush=True)
    consumer.commit(message, asynchronous=False)
consumer.close()
