<?php
// name: Doctrine
// packages: php-cli php-pgsql php-doctrine-orm
// declare: `type: 'json', options: ['jsonb' => true]`; functions as `JSON_GET_TEXT` of your own (DQL has none)
foreach (['Doctrine/ORM/autoload.php', 'Doctrine/DBAL/autoload.php'] as $file) {
    if (!stream_resolve_include_path($file) || !extension_loaded('pdo_pgsql')) {
        fwrite(STDERR, "no $file, or no pdo_pgsql\n");
        exit(77);
    }
    require_once $file;
}

use Doctrine\DBAL\DriverManager;

$db = DriverManager::getConnection(['driver' => 'pdo_pgsql', 'host' => getenv('PGHOST'), 'port' => getenv('PGPORT'), 'user' => getenv('PGUSER'), 'dbname' => getenv('PGDATABASE')]);
$find = fn (string $where, array $values = [], array $types = []) => $db->createQueryBuilder()->select('p.id')->from('person', 'p')->where($where)->setParameters($values, $types)->fetchFirstColumn();
$strings = Doctrine\DBAL\Connection::PARAM_STR_ARRAY;
$cases = [
    'text =' => fn () => $find("p.doc ->> 'town' = :town", ['town' => 'Town 7']),
    'number =' => fn () => $find("(p.doc ->> 'age')::int = :age", ['age' => 30], ['age' => 'integer']),
    'number >' => fn () => $find("(p.doc ->> 'age')::numeric > :age", ['age' => 85], ['age' => 'integer']),
    'boolean' => fn () => $find("(p.doc ->> 'ok')::boolean = :ok", ['ok' => true], ['ok' => 'boolean']),
    'date' => fn () => $find("(p.doc ->> 'born')::date < :born", ['born' => new DateTime('1970-01-05')], ['born' => 'date']),
    'nested' => fn () => $find("p.doc #>> '{address,city}' = :city", ['city' => 'City 7']),
    'IN' => fn () => $find("p.doc ->> 'town' IN (:towns)", ['towns' => ['Town 7', 'Town 8']], ['towns' => $strings]),
    'OR' => fn () => $find("p.doc ->> 'town' = :a OR p.doc ->> 'town' = :b", ['a' => 'Town 7', 'b' => 'Town 8']),
    'OR of two' => fn () => $find("p.doc ->> 'town' = :a OR p.doc #>> '{address,city}' = :b", ['a' => 'Town 7', 'b' => 'City 8']),
    'LIKE' => fn () => $find("p.doc ->> 'town' LIKE :town", ['town' => 'Town 7%']),
    'ILIKE' => fn () => $find("p.doc ->> 'town' ILIKE :town", ['town' => 'town 7%']),
    'IS NULL' => fn () => $find("p.doc ->> 'town' IS NULL"),
    'array has' => fn () => $find("p.doc -> 'tags' @> :tags", ['tags' => ['t7']], ['tags' => 'json']),
    'document has' => fn () => $find('p.doc @> :part', ['part' => ['town' => 'Town 7']], ['part' => 'json']),
    'element has' => fn () => $find('p.doc @> :part', ['part' => ['lines' => [['name' => 'L7', 'qty' => 2]]]], ['part' => 'json']),
    'order, limit' => fn () => $db->createQueryBuilder()->select('p.id')->from('person', 'p')->where("p.doc ->> 'town' IS NOT NULL")->orderBy("p.doc ->> 'town' COLLATE \"C\"")->addOrderBy('p.id')->setMaxResults(10)->fetchFirstColumn(),
    'count' => fn () => $db->createQueryBuilder()->select('count(*)')->from('person', 'p')->where("p.doc ->> 'town' = 'Town 7'")->fetchOne(),
    'lock' => fn () => $db->transactional(fn () => $db->fetchFirstColumn("SELECT id FROM person WHERE doc ->> 'town' = ? " . $db->getDatabasePlatform()->getWriteLockSQL(), ['Town 7'])),
    'update' => fn () => $db->createQueryBuilder()->update('person')->set('doc', "doc || '{\"moved\": true}'")->where("doc ->> 'town' = :town")->setParameter('town', 'Town 7')->executeStatement(),
    'delete' => fn () => $db->createQueryBuilder()->delete('person')->where("doc ->> 'town' = :town")->setParameter('town', 'Town 8')->executeStatement(),
];
foreach ($cases as $name => $run) {
    $db->executeStatement("SELECT 'case: $name'");
    try {
        $answer = $run();
        $answer = is_array($answer) ? array_map('intval', $answer) : (int) $answer;
    } catch (Throwable $error) {
        $answer = 'error: ' . strtok($error->getMessage(), "\n");
    }
    echo json_encode([$name, $answer], JSON_UNESCAPED_UNICODE), "\n";
}
$db->executeStatement("SELECT 'case: end'");
