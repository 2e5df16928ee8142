import { DuckDBInstance } from "@duckdb/node-api";
import type { DuckDBConnection } from "@duckdb/node-api";
import test from "ava";
import fc from "fast-check";
import { keepByteOrderMarks } from "../../../../src/store/duckdb/database/text-decoder.ts";
import { appendChunks, ChunkPool, Rows } from "../../../../src/store/duckdb/write/chunks.ts";
import {
  beginVector,
  bigints,
  booleans,
  doubles,
  hexUbigints,
  structs,
  uintegers,
} from "../../../../src/store/duckdb/write/vectors/columns.ts";
import type { BeginColumn, Column } from "../../../../src/store/duckdb/write/vectors/columns.ts";
import { beginValues } from "../../../../src/store/duckdb/write/vectors/values.ts";
import { distinctTexts, textEntries, texts } from "../../../../src/store/duckdb/write/vectors/texts.ts";

type Inner = { readonly text: string | null; readonly other: string | null };
type Row = {
  readonly whole: number;
  readonly large: bigint;
  readonly small: number;
  readonly flag: boolean;
  readonly real: number | null;
  readonly unlike: string | null;
  readonly alike: string | null;
  readonly inner: Inner | null;
};

const COLUMNS: readonly Column<Row>[] = [
  bigints((row) => row.whole),
  hexUbigints((row) => row.large.toString(16).padStart(16, "0")),
  uintegers((row) => row.small),
  booleans((row) => row.flag),
  doubles((row) => row.real),
  distinctTexts((row) => row.unlike),
  texts((row) => row.alike),
  structs<Row, Inner>((row) => row.inner, {
    text: texts((inner) => inner?.text ?? null),
    other: distinctTexts((inner) => inner?.other ?? null),
  }),
];
const lengthOfUnlike = ({ unlike }: Pick<Row, "unlike">): number => unlike?.length ?? 0;
const ROWS = {
  name: "rows",
  columns: COLUMNS,
  toRows: (rows: readonly Row[]) => rows,
  lengthOf: lengthOfUnlike,
};
/** The ways to fill a column, which differ in speed only. */
const WAYS = { vectors: beginVector, values: beginValues } as const;
const TABLE = `create table rows (whole bigint not null, large ubigint, small uinteger, flag boolean, real double, unlike varchar, alike varchar,
  "inner" struct("text" varchar, other varchar))`;

/** A vector holds short texts itself and refers to long ones. */
const TEXT = fc.oneof(
  fc.constantFrom("", "a", "twelve bytes", "thirteen byte", "\u0000", "a\u0000b", "\ufeffmark", "Ä🎉 und was folgt"),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);
const NULLABLE_TEXT = fc.option(TEXT);
const ROW: fc.Arbitrary<Row> = fc.record({
  whole: fc.maxSafeInteger(),
  large: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  small: fc.nat({ max: 2 ** 32 - 1 }),
  flag: fc.boolean(),
  real: fc.option(fc.double({ noNaN: true })),
  unlike: NULLABLE_TEXT,
  alike: NULLABLE_TEXT,
  inner: fc.option(fc.record({ text: NULLABLE_TEXT, other: NULLABLE_TEXT })),
});

async function openTable() {
  keepByteOrderMarks();
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  await connection.run(TABLE);
  return connection;
}

async function append(connection: DuckDBConnection, rows: readonly Row[], begin: BeginColumn): Promise<void> {
  const filled = new Rows(new ChunkPool(ROWS, begin));
  await filled.add(rows);
  await appendChunks(connection, "rows", filled.chunks);
  filled.release();
}

async function readRows(connection: DuckDBConnection): Promise<unknown> {
  return (await connection.runAndReadAll("from rows order by rowid")).getRowObjectsJS();
}

function asRead(rows: readonly Row[]): unknown {
  return rows.map(({ whole, ...row }) => ({ whole: BigInt(whole), ...row }));
}

for (const [way, begin] of Object.entries(WAYS)) {
  const pool = new ChunkPool(ROWS, begin);

  test(`${way}: rows are read as written, whatever their values and number of chunks, in any steps`, async (t) => {
    const connection = await openTable();
    // A few rows repeated many times fill several chunks and repeat their texts.
    const rows = fc.tuple(
      fc.array(ROW, { minLength: 1, maxLength: 30 }),
      fc.array(fc.nat({ max: 2_000 }), { maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(rows, async ([few, counts]) => {
        const filled = new Rows(pool);
        const written: Row[] = [];
        for (const count of counts) {
          const some = Array.from({ length: count }, (_, i) => few[(i * 7 + count) % few.length]!);
          await filled.add(some);
          written.push(...some);
        }
        await connection.run("truncate rows");
        await connection.run("begin");
        await appendChunks(connection, "rows", filled.chunks);
        await connection.run("commit");
        t.deepEqual(await readRows(connection), asRead(written));
        // The next chunks reuse this memory.
        filled.release();
      }),
      { numRuns: 40 },
    );
  });

  test(`${way}: picked rows are copied unchanged, and the others stay`, async (t) => {
    const connection = await openTable();
    const picked = fc.array(fc.tuple(ROW, fc.boolean()), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(picked, fc.nat({ max: 40 }), async (few, times) => {
        const all = Array.from({ length: few.length * times }, (_, i) => few[i % few.length]!);
        const filled = new Rows(pool);
        await filled.add(all.map(([row]) => row));
        const places = [...all.keys()].filter((place) => all[place]![1]);
        const some = await filled.pick(places);
        await connection.run("truncate rows");
        await appendChunks(connection, "rows", some.chunks);
        await appendChunks(connection, "rows", filled.chunks);
        t.deepEqual(
          await readRows(connection),
          asRead([...places.map((place) => all[place]![0]), ...all.map(([row]) => row)]),
        );
        filled.release();
        some.release();
      }),
      { numRuns: 30 },
    );
  });

  test(`${way}: halves of a surrogate pair in adjacent texts stay two invalid characters`, async (t) => {
    const connection = await openTable();
    const row: Row = { whole: 1, large: 2n, small: 3, flag: true, real: 4, unlike: "", alike: "", inner: null };
    const halves = ["from one \ud83d", "\ude00 to the next", "plain"];
    await append(
      connection,
      halves.map((text) => ({ ...row, unlike: text, alike: text })),
      begin,
    );
    const whole = halves.map((text) => text.toWellFormed());
    const read = (await connection.runAndReadAll("select unlike, alike from rows order by rowid")).getRows();
    t.deepEqual(
      read,
      whole.map((text) => [text, text]),
    );
  });

  test(`${way}: a number that no column accepts is refused, and the rows before it stay and can be added to`, async (t) => {
    const connection = await openTable();
    const row: Row = { whole: 1, large: 2n, small: 3, flag: true, real: 4, unlike: "", alike: "", inner: null };
    const filled = new Rows(pool);
    await filled.add([row]);
    const odd = { ...row, unlike: null, real: null, whole: 2 ** 53 };
    await t.throwsAsync(filled.addSome([odd]), {
      instanceOf: RangeError,
      message: "9007199254740992 is not an integer below 2^53",
    });
    await filled.add([{ ...row, whole: 5 }]);
    await appendChunks(connection, "rows", filled.chunks);
    t.deepEqual(await readRows(connection), asRead([row, { ...row, whole: 5 }]));
  });

  test(`${way}: a refused row leaves nothing in the columns filled before the refusal`, async (t) => {
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    await connection.run("create table rows (real double, word varchar, whole bigint)");
    type Narrow = Pick<Row, "real" | "unlike" | "whole">;
    const columns = [
      doubles<Narrow>(({ real }) => real),
      texts<Narrow>(({ unlike }) => unlike),
      bigints<Narrow>(({ whole }) => whole),
    ];
    const filled = new Rows(
      new ChunkPool(
        { name: "rows", columns, toRows: (rows: readonly Narrow[]) => rows, lengthOf: lengthOfUnlike },
        begin,
      ),
    );
    await filled.add([{ real: null, unlike: "a word of more than twelve bytes", whole: 1 }]);
    await t.throwsAsync(filled.addSome([{ real: null, unlike: null, whole: 2 ** 53 }]), { instanceOf: RangeError });
    await filled.add([{ real: 2, unlike: "two", whole: 2 }]);
    await appendChunks(connection, "rows", filled.chunks);
    t.deepEqual((await connection.runAndReadAll("from rows order by rowid")).getRows(), [
      [null, "a word of more than twelve bytes", 1n],
      [2, "two", 2n],
    ]);
  });

  test(`${way}: steps and chunks of long texts have few rows`, async (t) => {
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    await connection.run("create table rows (unlike varchar)");
    type Narrow = Pick<Row, "unlike">;
    const columns = [distinctTexts<Narrow>(({ unlike }) => unlike)];
    const narrow = new ChunkPool(
      {
        name: "rows",
        columns,
        toRows: (rows: readonly Narrow[]) => rows,
        lengthOf: lengthOfUnlike,
      },
      begin,
    );
    const filled = new Rows(narrow);
    const items = Array.from({ length: 100 }, (_, i) => ({ unlike: String(i).padEnd(100_000, "ü") }));
    t.is((await filled.addSome(items)).length, 2);
    await filled.add(items.slice(2));
    t.deepEqual(new Set(filled.chunks.map(({ rowCount }) => rowCount)), new Set([12, 4]));
    await appendChunks(connection, "rows", filled.chunks);
    const [stored] = (
      await connection.runAndReadAll("select array_agg(unlike order by rowid) from rows")
    ).getRowsJson();
    t.deepEqual(stored, [items.map(({ unlike }) => unlike)]);
  });
}

test("texts may be on both sides of an address that ends in 32 zeros", (t) => {
  const values = ["twenty bytes, before", "as many bytes behind"];
  const bytes = Buffer.from(`${values.join("")} and padding`);
  const entries = textEntries(values, { bytes, isAscii: true, address: 0x7f12_ffff_fff0n });
  t.deepEqual(entries.slice(0, 4), Uint32Array.of(20, bytes.readUInt32LE(0), 0xffff_fff0, 0x7f12));
  t.deepEqual(entries.slice(4), Uint32Array.of(20, bytes.readUInt32LE(20), 4, 0x7f13));
});
