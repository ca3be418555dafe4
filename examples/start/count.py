import sys

from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
jobs = (
    spark.readStream.format("kafka-share")
    .option("kafka.bootstrap.servers", sys.argv[1])
    .option("kafka.group.id", "counters")
    .option("subscribe", "jobs")
    .load()
)


def count(batch: DataFrame, batch_id: int) -> None:
    for row in batch.groupBy(batch.value.cast("string").alias("job")).count().orderBy("job").collect():
        print(row["job"], row["count"], sep=": ")


query = (
    jobs.writeStream.foreachBatch(count)
    .option("checkpointLocation", sys.argv[2])
    .trigger(availableNow=True)  # what is there now; without it the query goes on for ever
    .start()
)
query.awaitTermination()
